// SPDX-License-Identifier: GPL-2.0-or-later
// memory_source.js - what the memory map asks of the server.

import { base, encodeLocation, getBytes, getJSON, post } from "./server.js";

const ADDRESS_MAX = 6000; // characters that servers and proxies take

// "?at=LOCATION&at=..." of the lines
export function atQuery(locations) {
	const query = locations.map((at, i) => `${i ? "&" : "?"}at=${encodeLocation(at)}`).join("");
	if (query.length > ADDRESS_MAX)
		throw Object.assign(new Error(`${locations.length} lines are too many for one question: select fewer`), { status: 414 });
	return query;
}

// Behind one address there may be several processes: after the first answer that very one is asked.
export class ServerSource {
	constructor() {
		this.process = "";
	}

	get(path, how = getJSON) {
		return how(`${this.process}${path}`);
	}

	async snapshot() {
		const json = await this.get("/map.json"), { mount } = document.documentElement.dataset;
		if (!this.process && mount !== undefined && mount === base())
			this.process = `/${json.pid}`;
		return json;
	}

	tile({ id }, level, n) {
		return this.get(`/map/${id}/${level}/${n}.bin`, getBytes);
	}

	async bits({ id }, locations) {
		return this.get(`/map/${id}/at.bin${atQuery(locations)}`, getBytes);
	}

	async whatIf(locations) {
		return this.get(`/map/whatif${atQuery(locations)}`);
	}

	page(address) {
		return this.get(`/map/page/${address}`);
	}

	estimate() {
		return this.get("/map/trim");
	}

	trim() {
		return this.get("/map/trim", post);
	}
}
