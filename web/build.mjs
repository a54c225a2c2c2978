// SPDX-License-Identifier: GPL-2.0-or-later
// build.mjs [FOLDER] - makes web/dist (or FOLDER) of web/src and the libraries
// in node_modules. The same input gives the same bytes: no times, no paths.

import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const to = resolve(process.argv[2] || join(here, "dist"));
const LIBRARIES = ["d3-hierarchy", "uplot"];

const common = { absWorkingDir: here, bundle: true, minify: true, legalComments: "none", logLevel: "warning", charset: "ascii" };
mkdirSync(to, { recursive: true });
await build({ ...common, entryPoints: ["src/main.js"], outfile: join(to, "mwrap.js"), format: "esm", target: ["es2022"],
	banner: { js: "/* SPDX-License-Identifier: GPL-2.0-or-later; sources: web/src; libraries' licences: LICENSES */" } });
await build({ ...common, entryPoints: ["node_modules/uplot/dist/uPlot.min.css"], outfile: join(to, "uplot.css"), loader: { ".css": "css" } });

const licences = LIBRARIES.map((name) => {
	const folder = join(here, "node_modules", name);
	const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
	return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
});
writeFileSync(join(to, "LICENSES"), `mwrap.js contains these libraries, uplot.css is uPlot's:\n\n${licences.join(`\n${"-".repeat(72)}\n\n`)}`);
