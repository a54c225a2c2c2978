// SPDX-License-Identifier: GPL-2.0-or-later
// filter.js - the filter's text, as a test of rows. Words are
// separated by blanks and must all be there, in any case; "gem:name" is a part
// of the gem's name, "kind:name" one of the largest kind's, "-word" must not be
// there. A quoted "two words" is one.

export function parse(text) {
	const words = [];
	for (const m of text.toLowerCase().matchAll(/(-?)(gem:|kind:)?(?:"([^"]*)"?|(\S+))/g)) {
		const word = m[3] ?? m[4] ?? "";
		if (word && word !== "-")
			words.push({ word, gem: m[2] === "gem:", ...(m[2] === "kind:" && { kind: true }), not: m[1] === "-" });
	}
	return words;
}

// Is every row that matches `now` among those that match `before`?
export function narrows(now, before) {
	return before.every((b) => now.some((n) => n.gem === b.gem && n.kind === b.kind && n.not === b.not &&
		(b.not ? b.word.includes(n.word) : n.word.includes(b.word))));
}

// matches(slot) of some rows, for parsed words
export function matcher(rows, words) {
	const { lower } = rows;
	if (!words.length)
		return () => true;
	if (words.length === 1 && !words[0].gem && !words[0].kind && !words[0].not) { // the usual case
		const [{ word }] = words;
		return (slot) => lower[slot].includes(word);
	}
	return (slot) => {
		for (const { word, gem, kind, not } of words) {
			const text = gem ? rows.gemLower(slot) : kind ? rows.kinds.text(rows.id[slot]).toLowerCase() : lower[slot];
			if (text.includes(word) === not)
				return false;
		}
		return true;
	};
}
