// SPDX-License-Identifier: GPL-2.0-or-later
// filter.js - what is typed into the filter, as a test of rows. Words are
// separated by blanks and must all be there, in any case; "gem:name" is a part
// of the gem's name, "-word" must not be there. A quoted "two words" is one.

export function parse(text) {
	const words = [];
	for (const m of text.toLowerCase().matchAll(/(-?)(gem:)?(?:"([^"]*)"?|(\S+))/g)) {
		const word = m[3] ?? m[4] ?? "";
		if (word && word !== "-")
			words.push({ word, gem: Boolean(m[2]), not: m[1] === "-" });
	}
	return words;
}

// matches(slot) of some rows, for parsed words
export function matcher(rows, words) {
	const { lower } = rows;
	if (!words.length)
		return () => true;
	if (words.length === 1 && !words[0].gem && !words[0].not) { // the usual case
		const [{ word }] = words;
		return (slot) => lower[slot].includes(word);
	}
	return (slot) => {
		for (const { word, gem, not } of words) {
			const text = gem ? rows.gemLower(slot) : lower[slot];
			if (text.includes(word) === not)
				return false;
		}
		return true;
	};
}
