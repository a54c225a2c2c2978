// SPDX-License-Identifier: GPL-2.0-or-later
// place.js - the parts of a location: file, folder, gem. By the shape of
// the text alone, with the server's rules (group=gem there gives the same names).

// Length of the file's part. The server counts bytes, which are characters
// only when all is ASCII.
export function fileLength(location, given, kind) {
	if (given >= 0 && given <= location.length && /^[\x00-\x7f]*$/.test(location))
		return given;
	if (kind === "ruby") {
		const m = /:\d+$/.exec(location);
		return m ? m.index : location.length;
	}
	const paren = kind === "native" ? location.indexOf("(") : -1;
	return paren > 0 ? paren : location.length;
}

// “rack-2.2.4”, “nokogiri-1.13-x86_64-linux”, or bundler's “rack-0123abcd”
const isGem = (s) => /.-\d/.test(s) || /.-[0-9a-f]{7,}$/.test(s);

function gemIn(folders) {
	let found = null;
	for (let i = 0; i < folders.length; i++)
		if ((folders[i - 1] === "gems" || folders[i - 3] === "extensions") && isGem(folders[i]))
			found = folders[i];
	return found;
}

// The first name behind the folder at `at`, without ".rb" and the like
function library(parts, at) {
	for (let i = at + 1; i < parts.length - 1; i++)
		if (!/^\d+\.\d+\.\d+$/.test(parts[i]) && !parts[i].includes("-linux"))
			return parts[i];
	return parts[parts.length - 1].replace(/(.)\..*$/, "$1");
}

// .../lib/ruby/3.1.0/..., .../lib/ARCH/ruby/3.1.0/..., and Ruby's two other folders
function rubyLib(parts) {
	for (let i = 2; i < parts.length - 1; i++) {
		if (parts[i - 1] !== "ruby" || (parts[i - 2] !== "lib" && parts[i - 3] !== "lib"))
			continue;
		const abi = /^(\d+\.\d+)\.\d+$/.exec(parts[i]);
		if (abi)
			return `ruby ${abi[1]} stdlib`;
		if (parts[i] === "vendor_ruby" || parts[i] === "site_ruby")
			return `${parts[i]}/${library(parts, i)}`;
	}
	return null;
}

// The path inside of “(eval at PATH:LINE)” and “<internal:/PATH>”, if it is one
function innerPath(file) {
	let path = file;
	while (path.startsWith("(eval at ")) {
		path = path.slice(9);
		const colon = path.lastIndexOf(":");
		path = colon > 0 ? path.slice(0, colon) : path;
	}
	if (path.startsWith("<internal:/"))
		path = path.slice(10).replace(/>$/, "");
	return path || file;
}

export const fileOf = (row) => row.location.slice(0, row.fileLength) || row.location;

export function dirOf(row) {
	const file = innerPath(fileOf(row));
	const slash = file.lastIndexOf("/");
	return slash < 0 ? file : slash ? file.slice(0, slash) : "/";
}

export function gemOf(row) {
	const path = innerPath(fileOf(row));
	if (row.kind === "special")
		return row.location;
	const parts = path.split("/");
	const known = gemIn(parts.slice(0, -1)) || rubyLib(parts);
	if (known)
		return known;
	if (path.startsWith("<internal:"))
		return "ruby core";
	const slash = path.lastIndexOf("/");
	if (slash < 0)
		return path;
	if (row.kind === "native")
		return path.slice(slash + 1);
	return slash ? path.slice(0, slash) : "/";
}

// [dimmed, plain, strong]: “/usr/share/gems/…/gems/”, “redcarpet-3.3.2/lib/”,
// “redcarpet.rb:51”. Together they are the location.
export function pieces(location, fileLength) {
	const file = location.slice(0, fileLength);
	const slash = file.lastIndexOf("/") + 1;
	const gem = Math.max(file.lastIndexOf("/gems/") + 6, 0);
	const from = gem > 5 && gem <= slash ? gem : slash;
	return [location.slice(0, from), location.slice(from, slash), location.slice(slash)];
}

const rotate = (v, n) => (v << n) | (v >>> (32 - n));
const [P1, P2, P3, P4, P5] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1];

// XXH32 of bytes
function xxh32(bytes, seed) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	const round = (v, at) => Math.imul(rotate((v + Math.imul(view.getUint32(at, true), P2)) | 0, 13), P1);
	let at = 0, h = (seed + P5) | 0;
	if (bytes.length >= 16) {
		let [a, b, c, d] = [seed + P1 + P2, seed + P2, seed, seed - P1];
		for (; at + 16 <= bytes.length; at += 16)
			[a, b, c, d] = [round(a, at), round(b, at + 4), round(c, at + 8), round(d, at + 12)];
		h = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) | 0;
	}
	h = (h + bytes.length) | 0;
	for (; at + 4 <= bytes.length; at += 4)
		h = Math.imul(rotate((h + Math.imul(view.getUint32(at, true), P3)) | 0, 17), P4);
	for (; at < bytes.length; at++)
		h = Math.imul(rotate((h + Math.imul(bytes[at], P5)) | 0, 11), P1);
	h = Math.imul(h ^ (h >>> 15), P2);
	h = Math.imul(h ^ (h >>> 13), P3);
	return (h ^ (h >>> 16)) >>> 0;
}

// The short id of a location that is too long for an address: as mw_location_short has it
export function shortId(location) {
	const bytes = new TextEncoder().encode(location.replace(/[ \t]\[0x[0-9a-fA-F]+\]$/, ""));
	return `~${[0, 1].map((seed) => xxh32(bytes, seed).toString(16).padStart(8, "0")).join("")}`;
}
