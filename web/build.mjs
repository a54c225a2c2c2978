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
await script("src/at.js", "at.js");
// the version that the server gives it (src/server/http/embed.rb), so that browsers may keep it
const version = (name) => createHash("sha256").update(readFileSync(join(to, name))).digest("hex").slice(0, 16);
const address = (name) => JSON.stringify(`./${name}?v=${version(name)}`);
const style = (entry, name) => build({ ...common, entryPoints: [entry], outfile: join(to, name), loader: { ".css": "css" } });
await style("src/flame.css", "flame.css");
await script("src/flame.js", "flame.js", { define: { FLAME_CSS: address("flame.css") } });
await style("src/memory.css", "map.css");
await script("src/memory.js", "map.js", { define: { MAP_CSS: address("map.css") } });
await script("src/main.js", "mwrap.js", { define: { APP: address("app.js"), CLUSTER: address("cluster.js"), AT: address("at.js"), FLAME: address("flame.js"), MAP: address("map.js") },
	external: ["./app.js?*", "./cluster.js?*", "./at.js?*", "./flame.js?*", "./map.js?*"] });
await style("node_modules/uplot/dist/uPlot.min.css", "uplot.css");

// Pages of one file that need no server. The policy names the page's style and its script by their hashes, so nothing
// else runs there, whatever the data's texts are. The slots {{title}}, {{process}} and those of the data stay.
const inline = async (options) => (await build({ ...common, write: false, outdir: to, ...options })).outputFiles[0].text.trim();
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
// src/X_alone.html is what is in the body of the page that src/X_alone.js draws.
const alone = async (name, entry, ownStyles) => {
	const css = (await Promise.all(["mwrap.css", ...ownStyles].map((style) => inline({ entryPoints: [style] })))).join("\n");
	const js = await inline({ entryPoints: [entry], format: "esm", target: ["es2022"] });
	for (const text of [css, js])
		if (/<\/s|<!--|<script|\{\{/i.test(text)) // "{{" would be a slot
			throw new Error(`${name}: a part can't be in a page as it is`);
	const template = (file) => readFileSync(join(here, file), "utf8");
	const parts = { style: css, script: js, body: template(entry.replace(".js", ".html")),
		policy: `default-src 'none'; script-src ${hash(js)}; style-src ${hash(css)}; base-uri 'none'; form-action 'none'` };
	writeFileSync(join(to, name), template("src/alone.html").replace(/\[\[(\w+)\]\]/g, (_, part) => parts[part]));
};
await alone("flame_alone.html", "src/flame_alone.js", ["src/flame.css"]);
await alone("report_written.html", "src/report_written.js", ["src/flame.css", "src/report_written.css"]);
await alone("map_alone.html", "src/memory_alone.js", ["memory.css", "src/memory.css"]);
await alone("replay_alone.html", "src/replay_alone.js", ["src/replay.css"]);

const licences = LIBRARIES.map((name) => {
	const folder = join(here, "node_modules", name);
	const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
	return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
});
writeFileSync(join(to, "LICENSES"), `app.js contains these libraries, uplot.css is uPlot's:\n\n${licences.join(`\n${"-".repeat(72)}\n\n`)}`);
