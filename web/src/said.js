// SPDX-License-Identifier: GPL-2.0-or-later
// said.js - the server's sentence about several processes, with a link to each that it names.

import { el, setAttr } from "./dom.js";
import { visible } from "./format.js";
import { pieces } from "./fleet.js";
import { mount } from "./poll.js";

// Into `node`, if it is another sentence than before: a link keeps the focus.
export function say(node, sentence, growing) {
	setAttr(node, "data-growing", growing);
	if (node.dataset.said === sentence)
		return;
	node.dataset.said = sentence;
	const hrefOf = ({ pid, group, q }) => (pid ? `${mount()}/${pid}/` : `${mount()}/all/#${new URLSearchParams({ group, q })}`);
	node.replaceChildren(...pieces(sentence).map((piece) => (piece.text ? el("a", { href: hrefOf(piece) }, visible(piece.text)) : visible(piece))));
}
