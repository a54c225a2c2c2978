// SPDX-License-Identifier: GPL-2.0-or-later
// build.mjs [FOLDER] - makes web/dist (or FOLDER) of web/src and the libraries
// in node_modules. The same input gives the same bytes: no times, no paths.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const to = resolve(process.argv[2] || join(here, "dist"));
const LIBRARIES = ["d3-hierarchy", "uplot"];

const common = { absWorkingDir: here, bundle: true, minify: true, legalComments: "none", logLevel: "warning", charset: "ascii" };
mkdirSync(to, { recursive: true });
const script = (entry, name, more) => build({ ...common, entryPoints: [entry], outfile: join(to, name), format: "esm", target: ["es2022"],
	banner: { js: "/* SPDX-License-Identifier: GPL-2.0-or-later; sources: web/src; libraries' licences: LICENSES */" }, ...more });
await script("src/app.js", "app.js");
await script("src/cluster.js", "cluster.js");
// the version that the server gives it (src/http/embed.rb), so that browsers may keep it
const version = (name) => createHash("sha256").update(readFileSync(join(to, name))).digest("hex").slice(0, 16);
const address = (name) => JSON.stringify(`./${name}?v=${version(name)}`);
await script("src/main.js", "mwrap.js", { define: { APP: address("app.js"), CLUSTER: address("cluster.js") }, external: ["./app.js?*", "./cluster.js?*"] });
await build({ ...common, entryPoints: ["node_modules/uplot/dist/uPlot.min.css"], outfile: join(to, "uplot.css"), loader: { ".css": "css" } });

const licences = LIBRARIES.map((name) => {
	const folder = join(here, "node_modules", name);
	const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
	return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
});
writeFileSync(join(to, "LICENSES"), `app.js contains these libraries, uplot.css is uPlot's:\n\n${licences.join(`\n${"-".repeat(72)}\n\n`)}`);
