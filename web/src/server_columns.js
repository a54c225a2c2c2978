// SPDX-License-Identifier: GPL-2.0-or-later
// server_columns.js - the columns of the server's tables, in its order. Their list is
// src/api/columns.def.

const LIST = [
	// begin: made by `make doc`
	["total", "EVERY", "Bytes allocated here since the start or the last reset."],
	["allocations", "EVERY", "Allocating calls since the start or the last reset."],
	["frees", "EVERY", "Blocks of this location freed since the start or the last reset; after a reset there may be more of them than allocations."],
	["growth", "EVERY", "Bytes live now less those live at the start or the last reset; a location that only ever grows is where to look for a leak."],
	["live_bytes", "EVERY", "Bytes allocated here and not freed yet; a reset doesn't change them."],
	["live", "EVERY", "Blocks allocated here and not freed yet; a reset doesn't change them."],
	["mean_life", "EVERY", "Mean lifespan of the freed blocks, in garbage collections (without Ruby: in bytes allocated meanwhile); unknown if none was freed."],
	["max_life", "EVERY", "Longest lifespan of a freed block, in the same unit."],
	["location", "EVERY", "Ruby file and line, or native module with symbol and offset, that called the allocator."],
	["objects", "EVERY", "Ruby objects made here that outlived two major collections or are old, estimated from samples."],
	["object_bytes", "EVERY", "Their slots in Ruby's heap; what they have from malloc counts as live bytes where it was allocated."],
	["object_samples", "EVERY", "Samples that both rest on."],
	["object_error", "EVERY", "Per cent by which the number of objects may be off, in 19 of 20 cases; unknown without samples."],
	["live_samples", "EVERY", "Live blocks that stand for others, since allocations were sampled when they were made; 0 if every block was counted."],
	["live_error", "EVERY", "Per cent by which the live bytes may be off for that reason, in 19 of 20 cases; 0 if every block was counted."],
	["peak_bytes", "EVERY", "Bytes live here when all live memory was highest since the start or the last reset, as far as it was looked at, once a second or so; 0 if nobody looked."],
	["processes", "FAMILY", "Processes of the family that know the location; for a group, those that know the one that most know."],
	["kind", "KINDS", "The kind of most of the live bytes, and its share of them; estimated from samples, and unknown without any."],
	["kind_samples", "KINDS", "Samples that the kind rests on."],
	// end
];

// Names of those that every table has
export const EVERY = LIST.filter(([, tables]) => tables === "EVERY").map(([name]) => name);

// Returns the text of the server about the column of that name, or undefined if there is none.
export const serverAbout = (name) => LIST.find(([n]) => n === name)?.[2];
