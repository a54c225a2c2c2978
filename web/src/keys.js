// SPDX-License-Identifier: GPL-2.0-or-later
// keys.js - "?" opens the page with the words and the keys, which its link in the
// header does for those without a keyboard.

const typing = (node) => /^(INPUT|SELECT|TEXTAREA)$/.test(node?.tagName) || Boolean(node?.isContentEditable);

export function pageKeys() {
	addEventListener("keydown", (event) => {
		const link = document.querySelector("header a.help");
		if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target) || !link)
			return;
		event.preventDefault();
		link.click();
	});
}
