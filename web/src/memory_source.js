// SPDX-License-Identifier: GPL-2.0-or-later
// memory_source.js - the memory map's requests to the server.

import { base, encodeLocation, getBytes, getJSON, getOwn, post } from "./server.js";

const ADDRESS_MAX = 6000; // characters that servers and proxies take

// "?at=LOCATION&at=..." of the lines
export function atQuery(locations) {
	const query = locations.map((at, i) => `${i ? "&" : "?"}at=${encodeLocation(at)}`).join("");
	if (query.length > ADDRESS_MAX)
		throw Object.assign(new Error(`${locations.length} lines are too many for one question: select fewer`), { status: 414 });
	return query;
}

const TIMES = 8; // that a piece of a snapshot is asked for, if another process may have answered

// Behind one address there may be several processes. Once one has answered only its answers count: it is asked by its
// own address if it has one, else again and again until it is the one.
export class ServerSource {
	constructor() {
		this.process = "";
		this.start = "";
	}

	async json(path) {
		const json = await getOwn(this.process + path, () => this.start);
		if (!json)
			throw Object.assign(new Error("another process answers each time"), { status: 409 });
		return json;
	}

	// 404 may be the answer of a process that never had this snapshot.
	async bytes(path) {
		for (let i = 1; ; i++)
			try {
				return await getBytes(this.process + path);
			} catch (e) {
				if (e.status !== 404 || this.process || i === TIMES)
					throw e;
			}
	}

	// Of the same process as before, if that still answers
	async snapshot() {
		const json = await getOwn(`${this.process}/map.json`, () => this.start) ?? await getJSON("/map.json"), { mount } = document.documentElement.dataset;
		this.start = json.start;
		if (!this.process && mount !== undefined && mount === base())
			this.process = `/${json.pid}`;
		return json;
	}

	tile({ id }, level, n) {
		return this.bytes(`/map/${id}/${level}/${n}.bin`);
	}

	async bits({ id }, locations) {
		return this.bytes(`/map/${id}/at.bin${atQuery(locations)}`);
	}

	async whatIf(locations) {
		return this.json(`/map/whatif${atQuery(locations)}`);
	}

	page(address) {
		return this.json(`/map/page/${address}`);
	}

	estimate() {
		return this.json("/map/trim");
	}

	// The answer, and the pid of the process that gave it
	trim() {
		return post(`${this.process}/map/trim`);
	}
}
