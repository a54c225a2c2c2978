/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peak.h"

#include <string.h>

#include "shared/sys/clock.h"
#include "snapshot.h"

enum { CHUNK = 512, STEP = 50 }; /* a chunk is a page; a step is one part in so many */

static uint64_t *chunks[MW_CS_MAX / CHUNK]; /* bytes by id; NULL: zeros. Garbage while kept.bytes is 0 */
static bool looking; /* a thread looks; atomic */
static struct mw_peak kept; /* bytes: relaxed, for a first look without the lock */
uint32_t mw_peak_watched;
static uint64_t began; /* of mw_now_ns at uptime 0; before mw_peak_watched */
static int64_t below; /* while watched: bytes from live memory to the peak, less all that steps allocated since; relaxed */

static bool is_higher(uint64_t live)
{
	uint64_t bytes = mw_get(&kept.bytes);

	return live && (mw_get(&mw_peak_watched) ? live > bytes : live >= bytes + bytes / STEP);
}

/* Memory comes before the lock: a thread that the kernel lets wait for some must not keep others from the table. */
static void make_chunks(const struct mw_sum *sums, uint32_t end)
{
	for (uint32_t id = 1; id < end; id++)
		if (!chunks[id / CHUNK] && mw_sum_live(&sums[id]))
			__atomic_store_n(&chunks[id / CHUNK],
					 (uint64_t *)mw_arena_grow(CHUNK * sizeof(uint64_t),
								   MW_ARENA_HISTORY),
					 __ATOMIC_RELEASE);
}

/* Under mw_rebasing_lock. */
static void take_peak(const struct mw_sum *sums, uint32_t end, double uptime)
{
	uint64_t all = 0, now = 0;

	for (uint32_t id = 1; id < end; id++)
		now += mw_sum_live(&sums[id]);
	if (!is_higher(now)) {
		mw_set(&below, (int64_t)(mw_get(&kept.bytes) - now));
		return;
	}
	for (uint32_t i = 0; i < MW_CS_MAX / CHUNK; i++)
		if (chunks[i])
			memset(chunks[i], 0, CHUNK * sizeof(*chunks[i]));
	for (uint32_t id = 1; id < end; id++) {
		if (!chunks[id / CHUNK])
			continue;
		chunks[id / CHUNK][id % CHUNK] = mw_sum_live(&sums[id]);
		all += mw_sum_live(&sums[id]);
	}
	kept.uptime = uptime;
	mw_set(&kept.bytes, all);
	mw_set(&below, 0);
}

void mw_peak_look(uint64_t live_bytes, double uptime)
{
	struct mw_sum *sums;
	uint64_t retired;
	uint32_t epoch, end;

	if (!is_higher(live_bytes) || __atomic_exchange_n(&looking, true, __ATOMIC_ACQUIRE))
		return;
	if (!mw_reading_try()) {
		__atomic_store_n(&looking, false, __ATOMIC_RELEASE);
		return;
	}
	retired = mw_get(&mw_retired);
	epoch = mw_epoch();
	sums = mw_sums(&end);
	mw_reading_unlock();
	if (sums) {
		make_chunks(sums, end);
		/* a reader may stand still for long; the next look is soon */
		if (mw_rebasing_try()) {
			/* else the sums may be of other tenants */
			if (mw_get(&mw_retired) == retired && mw_epoch() == epoch)
				take_peak(sums, end, uptime);
			mw_rebasing_unlock();
		}
		mw_sums_free(sums, end);
	}
	__atomic_store_n(&looking, false, __ATOMIC_RELEASE);
}

void mw_peak_watch(bool on, double uptime)
{
	if (on) {
		began = mw_now_ns() - (uint64_t)(uptime * 1e9);
		mw_rebasing_lock();
		mw_peak_forget(false);
		mw_rebasing_unlock();
		mw_set(&below, 0);
		__atomic_store_n(&mw_peak_watched, 1, __ATOMIC_RELEASE); /* after `began` */
	}
	mw_peak_look(UINT64_MAX, uptime);
	if (!on)
		mw_set(&mw_peak_watched, 0);
}

bool mw_peak_due(uint64_t bytes)
{
	return __atomic_sub_fetch(&below, (int64_t)bytes, __ATOMIC_RELAXED) < 0;
}

void mw_peak_look_watched(void)
{
	if (__atomic_load_n(&mw_peak_watched, __ATOMIC_ACQUIRE))
		mw_peak_look(UINT64_MAX, (double)(mw_now_ns() - began) / 1e9);
}

struct mw_peak mw_peak_kept(void)
{
	struct mw_peak p;

	mw_reading_lock();
	p = kept;
	mw_reading_unlock();
	return p;
}

uint64_t mw_peak_at(uint32_t id)
{
	const uint64_t *chunk = chunks[id / CHUNK];

	return kept.bytes && chunk ? chunk[id % CHUNK] : 0;
}

void mw_peak_fold(uint32_t id, uint32_t into)
{
	uint64_t bytes = mw_peak_at(id), *to = chunks[into / CHUNK];

	if (!bytes || !to)
		return; /* without memory for the other's they are lost */
	to[into % CHUNK] += bytes;
	chunks[id / CHUNK][id % CHUNK] = 0;
}

void mw_peak_forget(bool forked)
{
	mw_set(&kept.bytes, 0);
	kept.uptime = 0;
	if (forked) /* whoever looked is a thread of the parent's */
		__atomic_store_n(&looking, false, __ATOMIC_RELEASE);
}
