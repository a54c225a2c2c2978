/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * witness_report.h - the end of witness.c: what is written at exit.
 *
 * One line of JSON per process, in one write. All figures are taken at one
 * point, the tracker's own included, so that they can be compared exactly. Where
 * both layers are loaded the upper one, which is finalised first, writes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#ifndef WITNESS_ABOVE
/* How the live blocks of both sides compare. Exported for the upper layer. */
EXPORT void witness_compare(size_t out[3]);
EXPORT void witness_compare(size_t out[3])
{
	const struct mw_api *a = api();
	struct mw_lives *l = a ? a->lives(NULL, 0) : NULL;
	size_t i, at;

	out[0] = out[1] = out[2] = 0;
	if (!l)
		return;
	pthread_mutex_lock(&slots_lock);
	for (i = 0; i < SLOTS; i++)
		out[1] += slots[i].addr && !(slots[i].size & QUIET);
	for (i = 0; i < l->n; i++) {
		at = slot_find(l->v[i].addr);
		out[2] += at != SLOTS && slots[at].size == pad(l->v[i].size);
	}
	out[0] = l->n;
	pthread_mutex_unlock(&slots_lock);
	a->lives_free(l);
}
#endif

static size_t tasks(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void sum_rows(const struct mw_api *a, struct mw_row *sum)
{
	struct mw_snapshot *s = a->snapshot();
	size_t i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; s && i < s->n; i++) {
		sum->total += s->rows[i].total;
		sum->allocations += s->rows[i].allocations;
		sum->freed += s->rows[i].freed;
		sum->frees += s->rows[i].frees;
		sum->live_bytes += s->rows[i].live_bytes;
		sum->live += s->rows[i].live;
		sum->growth += s->rows[i].growth;
	}
	if (s)
		a->snapshot_free(s);
}

static char line[4096];
static size_t used;

__attribute__((format(printf, 1, 2))) static void put(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line + used, sizeof(line) - used, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(line) - used)
		used += (size_t)n;
}

static void put_counts(const char *name, const struct counts *c)
{
	put(",\"%s\":{\"calls\":%lu,\"bytes\":%lu,\"frees\":%lu,\"padded\":%lu,\"small\":%lu,"
	    "\"failed\":%lu,\"quiet_calls\":%lu,\"quiet_bytes\":%lu,\"quiet_frees\":%lu,"
	    "\"untidy\":%lu}",
	    name, c->calls, c->bytes, c->frees, c->padded, c->small, c->failed, c->quiet_calls,
	    c->quiet_bytes, c->quiet_frees, c->untidy);
}

static void put_tracker(const struct mw_stats *s, const struct mw_row *r)
{
	put(",\"stats\":{\"total\":%lu,\"allocations\":%lu,\"freed\":%lu,\"frees\":%lu,"
	    "\"live_bytes\":%lu,\"live\":%lu,\"lost\":%lu,\"resets\":%lu,\"locations\":%lu,"
	    "\"locations_max\":%lu,\"retired\":%lu,\"strays\":%lu}",
	    s->total, s->allocations, s->freed, s->frees, s->live_bytes, s->live, s->lost, s->resets,
	    s->locations, s->locations_max, s->retired, s->overruns + s->double_frees + s->unknown_frees);
	put(",\"rows\":{\"total\":%lu,\"allocations\":%lu,\"freed\":%lu,\"frees\":%lu,"
	    "\"live_bytes\":%lu,\"live\":%lu,\"growth\":%ld}",
	    r->total, r->allocations, r->freed, r->frees, r->live_bytes, r->live, r->growth);
}

static char out_path[4096]; /* copied at start: the app may change its environment */

__attribute__((constructor)) static void start(void)
{
	const char *out = getenv("WITNESS_OUT");

	ready();
	if (out && strlen(out) < sizeof(out_path))
		strcpy(out_path, out);
}

static void write_line(void)
{
	int fd = open(out_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, line, used) != (ssize_t)used)
		dprintf(2, "witness: can't write %s\n", out_path);
	if (fd >= 0)
		close(fd);
}

__attribute__((destructor)) static void end(void)
{
	void (*above)(struct counts *), (*below)(struct counts *), (*comparison)(size_t[3]);
	const struct mw_api *a = api();
	struct counts up, low;
	struct mw_stats stats;
	struct mw_row rows;
	size_t lives[3];

	*(void **)&above = dlsym(RTLD_DEFAULT, "witness_counts_above");
	*(void **)&below = dlsym(RTLD_DEFAULT, "witness_counts_below");
	*(void **)&comparison = dlsym(RTLD_DEFAULT, "witness_compare");
	if (!out_path[0] || (above && above != COUNTS))
		return;
	if (above)
		above(&up);
	if (below)
		below(&low);
	if (a) {
		a->stats(&stats);
		sum_rows(a, &rows);
	}
	if (comparison)
		comparison(lives);
	/* whatever is counted from here on isn't in the figures */
	put("{\"pid\":%d,\"tasks\":%zu", (int)getpid(), tasks());
	if (above)
		put_counts("above", &up);
	if (below)
		put_counts("below", &low);
	if (a)
		put_tracker(&stats, &rows);
	if (comparison)
		put(",\"lives\":{\"tracker\":%zu,\"witness\":%zu,\"agree\":%zu}", lives[0], lives[1],
		    lives[2]);
	put("}\n");
	write_line();
}
