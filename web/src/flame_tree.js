// SPDX-License-Identifier: GPL-2.0-or-later
// flame_tree.js - the server's tree of stacks as flat arrays, one entry a node, parents
// before their children. Its sums are here, too. Pure functions.

export const RUBY = 0, NATIVE = 1, SPECIAL = 2;
export const NATURES = ["live", "total", "growth", "objects"];

const wrong = (what) => new Error(`flame.json: ${what}: mwrap and this page may be of different versions`);

// Adds to the arrays what follows from them: parent, end (behind the last node below), own, below
// (the widths of the children), and how deep it is.
function complete(tree) {
	const { n, depth, value, width } = tree;
	const parent = new Int32Array(n), end = new Int32Array(n), own = value.slice(), below = new Float64Array(n);
	const path = [0];
	let deepest = 0;
	parent[0] = -1;
	for (let i = 1; i < n; i++) {
		const d = depth[i];
		for (let open = depth[i - 1]; open >= d; open--)
			end[path[open]] = i;
		path[d] = i;
		const p = parent[i] = path[d - 1];
		own[p] -= value[i];
		below[p] += width[i];
		deepest = Math.max(deepest, d);
	}
	for (let open = depth[n - 1]; open >= 0; open--)
		end[path[open]] = n;
	return Object.assign(tree, { parent, end, own, below, deepest });
}

// The tree in an answer of flame.json; throws an error that says what isn't right.
export function readTree(json) {
	const { names, files, groups, frames, frame, depth, value, samples_of: samples } = json;
	for (const [what, list] of Object.entries({ names, files, groups, frames, frame, depth, value, samples_of: samples }))
		if (!Array.isArray(list))
			throw wrong(`no list ${what}`);
	const n = frame.length;
	const width = json.width || value.map((v) => Math.max(v, 0));
	if (!n || [depth, value, samples, width].some((list) => list.length !== n))
		throw wrong("the lists differ in length");
	if (depth[0] !== 0 || depth.some((d, i) => i > 0 && !(d >= 1 && d <= depth[i - 1] + 1)))
		throw wrong("a node without a parent");
	if (frame.some((f, i) => (i ? !(f >= 0 && f < frames.length) : f !== -1)))
		throw wrong("a node without a frame");
	if (frames.some(([name, file, , group]) => !(name >= 0 && name < names.length && file < files.length && group >= 0 && group < groups.length)))
		throw wrong("a frame without a name or a group");
	if (!NATURES.includes(json.by))
		throw wrong(`by is “${json.by}”`);
	const { by, inverted, location, total, rate, pruned, start, now, unix, range } = json;
	return complete({ by, range: range || null, inverted: Boolean(inverted), location: location ?? null, total, rate, pruned: pruned || 0, startup: json.startup ?? null, start, now, unix,
		samples: json.samples, names, files, groups, frames, n, merged: false,
		frame: Int32Array.from(frame), depth: Int32Array.from(depth), value: Float64Array.from(value),
		width: Float64Array.from(width), samplesOf: Float64Array.from(samples) });
}

// {name, file, line, group, kind} of a node's frame; null: the root, which has none
export function frameOf(tree, node) {
	const f = tree.frame[node];
	return f < 0 ? null : describe(tree, f);
}

export function describe(tree, f) {
	const [name, file, line, group, kind] = tree.frames[f];
	return { name: tree.names[name] ?? "", file: tree.files[file] ?? "", line, group: tree.groups[group] ?? "", kind };
}

// "/srv/a.rb:12", or a file, or ""
export const placeOf = ({ file, line }) => (file && line ? `${file}:${line}` : file);

// The line of Ruby that asks malloc in this node, or null: all that is between the two has
// no line of its own. Only such lines are locations.
export function locationOf(tree, node) {
	const at = frameOf(tree, node);
	if (!at || tree.merged || tree.part || at.kind !== RUBY || !at.file || !at.line)
		return null;
	if (tree.inverted) {
		for (let p = tree.parent[node]; p > 0; p = tree.parent[p])
			if (frameOf(tree, p).kind === RUBY)
				return null;
		return placeOf(at);
	}
	return asking(tree)[node] ? placeOf(at) : null;
}

// 1 for each node in which some stack ends, or ends in native frames alone below it
function asking(tree) {
	if (tree.asking)
		return tree.asking;
	const { n, own, end, parent, frame, frames } = tree;
	const asks = tree.asking = new Uint8Array(n);
	for (let i = n - 1; i > 0; i--) {
		if (own[i] !== 0 || end[i] === i + 1)
			asks[i] = 1;
		if (asks[i] && frames[frame[i]][4] === NATIVE)
			asks[parent[i]] = 1;
	}
	return asks;
}

// Sums of nodes of a tree, by their path of frames in another one, whose root's frame is `root`
export class Sums {
	constructor(tree, root = -1) {
		Object.assign(this, { of: tree, index: new Map(), frame: [root], value: [0], width: [0], samples: [0], kids: [[]] });
	}

	// The node of a frame below a node
	child(p, f) {
		const key = p * this.of.frames.length + f;
		let m = this.index.get(key);
		if (m === undefined) {
			this.index.set(key, m = this.frame.push(f) - 1);
			for (const list of [this.value, this.width, this.samples])
				list.push(0);
			this.kids.push([]);
			this.kids[p].push(m);
		}
		return m;
	}

	add(m, node) {
		this.value[m] += this.of.value[node];
		this.width[m] += this.of.width[node];
		this.samples[m] += this.of.samplesOf[node];
	}

	// change: what isn't the other tree's
	tree(change) {
		const { value, kids } = this, order = [], depth = [], todo = [[0, 0]];
		while (todo.length) {
			const [m, d] = todo.pop();
			order.push(m);
			depth.push(d);
			for (const kid of kids[m].sort((a, b) => value[a] - value[b] || b - a)) // the last one comes first
				todo.push([kid, d + 1]);
		}
		const pick = (list) => Float64Array.from(order, (m) => list[m]);
		return complete({ ...this.of, asking: null, n: order.length, frame: Int32Array.from(order, (m) => this.frame[m]), depth: Int32Array.from(depth),
			value: pick(value), width: pick(this.width), samplesOf: pick(this.samples), ...change });
	}
}

// The same stacks with each run of frames of one group as one node.
export function mergeGroups(tree) {
	const { n, frame, parent, frames, groups } = tree;
	const kind = new Int32Array(groups.length).fill(-1);
	for (let i = 1; i < n; i++) {
		const [, , , g, k] = frames[frame[i]];
		kind[g] = kind[g] < 0 || kind[g] === k ? k : RUBY;
	}
	const by = { ...tree, merged: true, names: groups, frames: groups.map((_, g) => [g, -1, 0, g, kind[g]]) };
	const sums = new Sums(by), to = new Int32Array(n);
	sums.add(0, 0);
	for (let i = 1; i < n; i++) {
		const g = frames[frame[i]][3], p = to[parent[i]];
		to[i] = sums.frame[p] === g ? p : sums.child(p, g);
		if (to[i] !== p)
			sums.add(to[i], i);
	}
	return sums.tree();
}

// By frame, of what is below a node and itself: own bytes, bytes of all stacks that it is in (each stack
// once, however often the frame is in it), their samples, and the widest node of the frame, or -1.
export function sumFrames(tree, root = 0) {
	const { frame, depth, value, own, samplesOf, width, end, inverted } = tree;
	const n = tree.frames.length;
	const sum = { own: new Float64Array(n), total: new Float64Array(n), samples: new Float64Array(n), widest: new Int32Array(n).fill(-1) };
	const inside = new Int32Array(n), path = [];
	for (let i = root; i < end[root]; i++) {
		while (path.length && depth[path[path.length - 1]] >= depth[i])
			inside[frame[path.pop()]]--;
		const f = frame[i];
		if (f < 0)
			continue;
		// upside down, the frame that asks for memory is the first one
		if (!inverted)
			sum.own[f] += own[i];
		else if (depth[i] === 1)
			sum.own[f] += value[i];
		if (!inside[f]) {
			sum.total[f] += value[i];
			sum.samples[f] += samplesOf[i];
		}
		if (sum.widest[f] < 0 || width[i] > width[sum.widest[f]])
			sum.widest[f] = i;
		inside[f]++;
		path.push(i);
	}
	return sum;
}

// Own bytes by group, the largest first: [[group, bytes]]
export function sumGroups(tree, own) {
	const sums = new Map();
	tree.frames.forEach(([, , , group], f) => own[f] && sums.set(group, (sums.get(group) || 0) + own[f]));
	return [...sums].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).map(([g, bytes]) => [tree.groups[g], bytes]);
}

/* --- a node's name in an address: the same for the same stack in another tree ------------ */

export const stir = (h, s) => {
	for (let i = 0; i < s.length; i++)
		h = Math.imul(h ^ s.charCodeAt(i), 16777619);
	return h >>> 0;
};

const hex = (h) => h.toString(16).padStart(8, "0");

// A frame's name in an address, whatever its line
export function frameHash(tree, f) {
	const { name, file } = describe(tree, f);
	return hex(stir(2166136261, `${name}\n${file}\n`));
}

export function* pathHashes(tree) {
	const frames = tree.frames.map((_, f) => {
		const { name, file, line } = describe(tree, f);
		return `${name}\n${file}\n${line}\n`;
	});
	const hash = new Uint32Array(tree.n);
	hash[0] = 2166136261;
	for (let i = 1; i < tree.n; i++)
		yield [i, hash[i] = stir(hash[tree.parent[i]], frames[tree.frame[i]])];
}

export function nodeName(tree, node) {
	for (const [i, h] of pathHashes(tree))
		if (i === node)
			return hex(h);
	return "";
}

// The node of that name, else the root
export function findNode(tree, name) {
	if (name)
		for (const [i, h] of pathHashes(tree))
			if (hex(h) === name)
				return i;
	return 0;
}
