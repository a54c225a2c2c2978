// SPDX-License-Identifier: GPL-2.0-or-later
// sort.js - puts slots in order. Keys are read once into an array: comparing
// is then two loads. `slots` is an Array in the order of last time, for which
// the engine's merge sort needs one pass when little has changed.

// Ties are in order of the location for text, and keep their order otherwise.
export function sortSlots(slots, rows, column, descending) {
	const sign = descending ? -1 : 1;
	if (column.text) {
		const { location } = rows;
		slots.sort((a, b) => (location[a] < location[b] ? -sign : location[a] > location[b] ? sign : a - b));
		return slots;
	}
	const keys = new Float64Array(rows.slots);
	for (const slot of slots)
		keys[slot] = column.get(rows, slot);
	if (descending)
		slots.sort((a, b) => keys[b] - keys[a] || a - b);
	else
		slots.sort((a, b) => keys[a] - keys[b] || a - b);
	return slots;
}
