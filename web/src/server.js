// SPDX-License-Identifier: GPL-2.0-or-later
// server.js - all that is asked of the server: where it is, the stream, and
// single requests. Nothing here touches the page.

import { shortId } from "./place.js";

// "" or "/mwrap": where the server is mounted
export const base = () => document.documentElement.dataset.base || "";

// As the server's own links: every byte but letters, digits and -._~
export const encode = (s) =>
	encodeURIComponent(s.toWellFormed ? s.toWellFormed() : s).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const LINK_MAX = 1024; // src/server/pages/pages.h

// A location in an address: itself, or the short id of a long one
export function encodeLocation(location) {
	const text = encode(location);
	return text.length > LINK_MAX ? shortId(location) : text;
}

// The page of a location, or of all
export const placePath = (location) => `${base()}/${location === null ? "" : `at/${encodeLocation(location)}`}`;

// The location that such a path names, or null: known has those of short ids, by path
export function placeOf(path, known = new Map()) {
	const text = path.startsWith(`${base()}/at/`) ? path.slice(base().length + 4) : "";
	try {
		return known.get(path) ?? (decodeURIComponent(text) || null);
	} catch {
		return null; // broken by hand
	}
}

async function explain(response) {
	const text = (await response.text()).trim().split("\n")[0];
	return text || `${response.status} ${response.statusText}`;
}

async function get(path, options) {
	const response = await fetch(base() + path, { credentials: "same-origin", cache: "no-store", ...options });
	if (!response.ok)
		throw Object.assign(new Error(await explain(response)), { status: response.status });
	return response;
}

// The JSON at a path, or an Error with the server's line of text
export const getJSON = async (path, options) => (await get(path, options)).json();

// The bytes at a path, likewise
export const getBytes = async (path) => new Uint8Array(await (await get(path)).arrayBuffer());

// POST /reset and the like: the server's answer, and the pid that gave it
export async function post(path) {
	const { said, pid } = await getJSON(path, { method: "POST", headers: { Accept: "application/json" } });
	return { said, pid };
}

const TIMES = 8;

// The answer at a path of the process that started at `start()`. Several processes may be behind one
// address, and any of them answers. null: another one answered each time.
export async function getOwn(path, start, times = TIMES) {
	for (let i = 0; i < times; i++) {
		const json = await getJSON(path);
		if (!json.start || !start() || json.start === start())
			return json;
	}
	return null;
}

const RETRY = [500, 1000, 2000, 5000];

// The stream, opened again whenever it ends. on: {hello, rows, point, lost(why)}.
// lost is told once for each time that it ends, and again if then the server refuses to go on
// (the session is over); why is its refusal, or null.
// One that can't go on says so ("poll" of hello, in ms) and where the next begins
// ("next"): that is no loss. Returns {open(), close()}: it begins closed; while it is,
// it holds no connection, and each open() begins anew.
export function follow(on) {
	let source = null, tries = 0, connected = false, told = false, refused = false, timer = 0;
	let poll = 2000, since = "", turn = 0;

	const again = async () => {
		source.close();
		const was = connected, mine = turn;
		connected = false;
		const why = was || refused ? null : await refusal();
		if (mine !== turn)
			return; // it was closed meanwhile
		if (!told || was || why) {
			told = true;
			refused = !!why;
			on.lost(why);
		}
		clearTimeout(timer);
		timer = setTimeout(open, RETRY[Math.min(tries++, RETRY.length - 1)]);
	};

	function open() {
		source = new EventSource(`${base()}/live${since}`);
		const listen = (name, then) => source.addEventListener(name, (e) => {
			connected = true;
			told = refused = false;
			tries = 0;
			then(JSON.parse(e.data));
		});
		listen("hello", (hello) => {
			poll = hello.poll || poll;
			on.hello(hello);
		});
		for (const name of ["rows", "point"])
			listen(name, on[name]);
		listen("next", (next) => {
			source.close();
			since = `?since=${next.since}`;
			timer = setTimeout(open, poll);
		});
		source.onerror = again;
	}

	return {
		open: () => source || open(),
		close() {
			turn++;
			clearTimeout(timer);
			source?.close();
			source = null;
			connected = false;
			since = "";
		},
	};
}

// EventSource doesn't say why it was refused: ask again, for the answer's status alone.
async function refusal() {
	const stop = new AbortController();
	try {
		const response = await fetch(`${base()}/live`, { signal: stop.signal, cache: "no-store" });
		return response.ok ? null : await explain(response);
	} catch {
		return null;
	} finally {
		stop.abort();
	}
}
