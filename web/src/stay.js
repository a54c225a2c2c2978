// SPDX-License-Identifier: GPL-2.0-or-later
// stay.js - while nobody answers, a press on a link doesn't leave the page that still has the data: it would lead
// to the browser's own error page.

const WAIT = 3000; // ms

// away(): does nobody answer? say(text): tells the user. Links to a part of the page, and those that the browser
// opens elsewhere, are as always. If a page is there by now, the link leads to it.
export function stay(away, say) {
	document.addEventListener("click", async (e) => {
		const link = e.target.closest?.("a[href]");
		if (!link || !away() || e.defaultPrevented || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || link.target || link.download)
			return;
		const to = new URL(link.href, location.href);
		if (to.origin !== location.origin || (to.hash && to.pathname === location.pathname && to.search === location.search))
			return;
		e.preventDefault();
		try {
			if ((await fetch(to, { method: "HEAD", signal: AbortSignal.timeout(WAIT) })).ok) {
				location.assign(to);
				return;
			}
		} catch {
			// no answer
		}
		say(`Nobody answers, so \u201c${link.textContent.trim()}\u201d can\u2019t be opened. This page keeps the last data.`);
	});
}
