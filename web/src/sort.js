// SPDX-License-Identifier: GPL-2.0-or-later
// sort.js - puts slots in order. Keys are read once into an array: comparing
// is then two loads. Ties are in the order of the slots, so that there is one
// order only, however it came about.

const FAR = 2 ** 50; // more than a slope or an amount of memory

// The key of the order by trend; rank: see Rows.rankOf(). Rows that grow have the largest keys, by their growth;
// all others have their live bytes. Upwards, rows that shrink have the smallest keys, by what they lost.
export function slopeKey(rank, liveBytes, descending) {
	if (rank > 0)
		return FAR + rank;
	return rank < 0 && !descending ? rank - FAR : liveBytes;
}

// Is that the key of a row that grows?
export const isGrower = (key) => key > FAR;

// The sort keys, by slot. A text's key is the time it came, which doesn't change. Unknown values
// come last.
function readKeys(slots, rows, column, descending) {
	if (column.text)
		return rows.filled.slice(0, rows.slots);
	const keys = new Float64Array(rows.slots);
	const last = descending ? -Infinity : Infinity;
	for (const slot of slots) {
		const key = column.get(rows, slot, descending);
		keys[slot] = key === key ? key : last;
	}
	return keys;
}

function comparer(keys, rows, column, descending) {
	const sign = descending ? -1 : 1;
	if (column.text) {
		const { location } = rows;
		return (a, b) => (location[a] < location[b] ? -sign : location[a] > location[b] ? sign : a - b);
	}
	return descending ? (a, b) => keys[b] - keys[a] || a - b : (a, b) => keys[a] - keys[b] || a - b;
}

export function sortSlots(slots, rows, column, descending) {
	return slots.sort(comparer(column.text ? null : readKeys(slots, rows, column, descending), rows, column, descending));
}

// The same for `slots` that may be in order already, but for those whose keys
// aren't those of `last`, the result of the last time, or null. Only these are
// compared with one another, and put between the others. Returns the keys.
export function sortAgain(slots, rows, column, descending, last) {
	const keys = readKeys(slots, rows, column, descending);
	const compare = comparer(keys, rows, column, descending);
	const moved = last ? slots.filter((slot) => last[slot] !== keys[slot]) : slots;
	if (moved.length > slots.length / 4) {
		slots.sort(compare);
	} else if (moved.length) {
		moved.sort(compare);
		merge(slots, slots.filter((slot) => last[slot] === keys[slot]), moved, compare);
	}
	return keys;
}

// Two lists in order become one.
function merge(to, a, b, compare) {
	let i = 0, k = 0;
	for (let n = 0; n < to.length; n++)
		to[n] = k === b.length || (i < a.length && compare(a[i], b[k]) < 0) ? a[i++] : b[k++];
}
