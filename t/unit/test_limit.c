/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory limit, of planted trees: a made-up /proc and cgroups by chance, beside a model of the right answer. */
/* uses: src/server/history/limit.c src/shared/text/buf.c src/shared/text/escape.c src/shared/text/json.c */
#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/server/history/limit.h"

#define GIB (UINT64_C(1) << 30)

static char root[64];
static struct mw_limits l;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st, (void)type, (void)f;
	return remove(path);
}

static void clear(void)
{
	if (*root)
		nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	strcpy(root, "/tmp/mw-limit.XXXXXX");
	assert_non_null(mkdtemp(root));
}

static void teardown(void)
{
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	*root = '\0';
}

/* Writes root/path, and makes its folders. */
static void plant(const char *path, const char *text)
{
	char full[4096];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *s = strchr(full + strlen(root) + 1, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		mkdir(full, 0755);
		*s = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void plant_number(const char *folder, const char *name, uint64_t v)
{
	char path[512], text[32];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(text, sizeof(text), "%" PRIu64 "\n", v);
	plant(path, text);
}

static void machine(uint64_t all, uint64_t available)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "MemTotal: %10" PRIu64 " kB\nMemFree: 1 kB\nMemAvailable: %" PRIu64 " kB\n", all / 1024,
		 available / 1024);
	plant("/proc/meminfo", text);
}

#define V2 "/sys/fs/cgroup"
#define V2_MOUNT(of) "30 22 0:27 " of " " V2 " rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1 "/sys/fs/cgroup/memory"
#define V1_MOUNT(of) "34 30 0:31 " of " " V1 " rw,relatime - cgroup cgroup rw,memory\n"

static void look(void)
{
	mw_limits_read_at(&l, root);
}

static void is(enum mw_limit_of of, uint64_t bytes, uint64_t used)
{
	look();
	assert_string_equal(mw_limit_names[l.of], mw_limit_names[of]);
	assert_int_equal(l.bytes, bytes);
	assert_int_equal(l.used, used);
}

EACH(clear, teardown);

TEST(nothing_can_be_read)
{
	look();
	assert_int_equal(l.of, MW_LIMIT_NONE);
	assert_true(l.room == MW_LIMIT_UNKNOWN && l.group.bytes == MW_LIMIT_UNKNOWN);
}

TEST(only_the_machine)
{
	machine(8 * GIB, 6 * GIB);
	is(MW_LIMIT_MACHINE, 8 * GIB, 2 * GIB);
	assert_true(l.room == MW_LIMIT_UNKNOWN);
}

TEST(max_is_no_limit)
{
	machine(8 * GIB, 6 * GIB);
	plant("/proc/self/cgroup", "0::/a\n");
	plant("/proc/self/mountinfo", V2_MOUNT("/"));
	plant(V2 "/a/memory.max", "max\n");
	plant(V2 "/a/memory.high", "max\n");
	is(MW_LIMIT_MACHINE, 8 * GIB, 2 * GIB);
	plant(V2 "/a/memory.max", "oops\n");
	is(MW_LIMIT_MACHINE, 8 * GIB, 2 * GIB);
	plant(V2 "/a/memory.max", "99999999999999999999999\n");
	is(MW_LIMIT_MACHINE, 8 * GIB, 2 * GIB);
}

TEST(high_is_below_max)
{
	machine(8 * GIB, 6 * GIB);
	plant("/proc/self/cgroup", "0::/a\n");
	plant("/proc/self/mountinfo", V2_MOUNT("/"));
	plant_number(V2 "/a", "memory.max", GIB);
	plant_number(V2 "/a", "memory.high", GIB / 2);
	plant_number(V2 "/a", "memory.current", GIB / 4);
	is(MW_LIMIT_HIGH, GIB / 2, GIB / 4);
	assert_int_equal(l.room, GIB / 4 * 3);
	plant_number(V2 "/a", "memory.high", GIB);
	is(MW_LIMIT_MAX, GIB, GIB / 4);
}

TEST(figures_of_the_own_group)
{
	plant("/proc/self/cgroup", "1:name=systemd:/\n0::/a/b\n");
	plant("/proc/self/mountinfo", "1 0 0:1 / / rw - ext4 /dev/x rw\n" V2_MOUNT("/"));
	plant_number(V2 "/a", "memory.max", GIB);
	plant_number(V2 "/a", "memory.current", 900);
	plant_number(V2 "/a/b", "memory.current", 700);
	plant(V2 "/a/b/memory.stat",
	      "anon 400\nfile 200\nkernel 100\nkernel_stack 7\nsock 5\ninactive_file 150\nactive_file 50\nslab 60\n");
	plant(V2 "/a/b/memory.events", "low 0\nhigh 3\nmax 2\noom 1\noom_kill 4\noom_group_kill 9\n");
	plant(V2 "/a/b/memory.pressure",
	      "some avg10=1.00 avg60=0.00 avg300=0.00 total=1234567890\nfull avg10=31.25 avg60=0.00 avg300=0.00 total=99\n");
	plant(V2 "/a/b/memory.swap.max", "max\n");
	plant_number(V2 "/a/b", "memory.swap.current", 11);
	is(MW_LIMIT_MAX, GIB, 900);
	assert_int_equal(l.group.bytes, 700);
	assert_int_equal(l.group.anon_bytes, 400);
	assert_int_equal(l.group.file_bytes, 200);
	assert_int_equal(l.group.active_file_bytes, 50);
	assert_int_equal(l.group.inactive_file_bytes, 150);
	assert_int_equal(l.group.kernel_bytes, 100);
	assert_int_equal(l.group.sock_bytes, 5);
	assert_int_equal(l.group.slab_bytes, 60);
	assert_int_equal(l.group.swap_bytes, 11);
	assert_true(l.group.swap_max_bytes == MW_LIMIT_UNKNOWN);
	assert_int_equal(l.group.high_events, 3);
	assert_int_equal(l.group.max_events, 2);
	assert_int_equal(l.group.oom_events, 1);
	assert_int_equal(l.group.oom_kills, 4);
	assert_int_equal(l.group.stalled_seconds, 1234);
	assert_int_equal(l.group.stalled_percent, 31);
}

/* Pages of files are dropped before anybody is killed. */
TEST(files_are_not_used_memory)
{
	plant("/proc/self/cgroup", "0::/\n");
	plant("/proc/self/mountinfo", V2_MOUNT("/"));
	plant_number(V2, "memory.max", GIB);
	plant_number(V2, "memory.current", 700);
	plant(V2 "/memory.stat", "anon 400\nfile 300\ninactive_file 150\nactive_file 50\n");
	is(MW_LIMIT_MAX, GIB, 500);
	assert_int_equal(l.room, GIB - 700);
}

/* A container without a namespace of cgroups: the path is the host's, and the mount shows a part of the tree. */
TEST(a_mount_of_a_part)
{
	plant("/proc/self/cgroup", "4:cpu,memory:/docker/abc/x\n0::/\n");
	plant("/proc/self/mountinfo", V1_MOUNT("/docker/abc"));
	plant_number(V1 "/x", "memory.limit_in_bytes", 3 * GIB);
	plant_number(V1, "memory.limit_in_bytes", GIB);
	plant_number(V1, "memory.usage_in_bytes", 5);
	is(MW_LIMIT_V1, GIB, 5);
	/* a beginning of the name is not a beginning of the path */
	plant("/proc/self/cgroup", "4:memory:/docker/abcd/x\n");
	is(MW_LIMIT_V1, GIB, 5);
	plant("/proc/self/cgroup", "4:memory:/../other\n");
	is(MW_LIMIT_V1, GIB, 5);
}

TEST(v1_without_a_limit)
{
	machine(8 * GIB, 6 * GIB);
	plant("/proc/self/cgroup", "4:memory:/a\n");
	plant("/proc/self/mountinfo", V1_MOUNT("/"));
	plant_number(V1 "/a", "memory.limit_in_bytes", UINT64_C(9223372036854771712));
	plant_number(V1 "/a", "memory.usage_in_bytes", 5);
	plant(V1 "/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 6\n");
	plant(V1 "/a/memory.stat", "cache 1\nrss 2\ntotal_cache 3\ntotal_rss 4\n");
	is(MW_LIMIT_MACHINE, 8 * GIB, 2 * GIB);
	assert_int_equal(l.group.bytes, 5);
	assert_int_equal(l.group.anon_bytes, 4);
	assert_int_equal(l.group.file_bytes, 3);
	assert_int_equal(l.group.oom_kills, 6);
	assert_true(l.group.sock_bytes == MW_LIMIT_UNKNOWN);
}

TEST(the_address_space)
{
	struct rlimit old, less;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	less = (struct rlimit){ 64 * GIB, old.rlim_max };
	if (setrlimit(RLIMIT_AS, &less)) /* a sanitizer's build or a tight machine */
		skip();
	machine(128 * GIB, 100 * GIB);
	plant("/proc/self/statm", "1000 20 3 4 0 5 0\n");
	is(MW_LIMIT_AS, 64 * GIB, 1000 * page);
	machine(8 * GIB, 6 * GIB);
	is(MW_LIMIT_MACHINE, 8 * GIB, 2 * GIB);
	setrlimit(RLIMIT_AS, &old);
}

/* A mount point with a blank, and a line that is longer than any path. */
TEST(odd_mounts)
{
	char *text = malloc(20000);

	memset(text, 'x', 12000);
	strcpy(text + 12000, "\n30 22 0:27 / /sys/fs/cg\\040roup rw - cgroup2 cgroup2 rw\n");
	plant("/proc/self/mountinfo", text);
	plant("/proc/self/cgroup", "0::/a");
	plant_number("/sys/fs/cg roup/a", "memory.max", GIB);
	is(MW_LIMIT_MAX, GIB, 0);
	free(text);
}

TEST(json)
{
	struct mw_buf b = { 0 };

	mw_limits_json(&b, &(struct mw_limits){ 0 });
	assert_int_equal(b.n, 0);
	plant("/proc/self/cgroup", "0::/a");
	plant("/proc/self/mountinfo", V2_MOUNT("/"));
	plant_number(V2 "/a", "memory.max", 100);
	plant_number(V2 "/a", "memory.current", 40);
	look();
	mw_buf_str(&b, "{");
	mw_limits_json(&b, &l);
	mw_buf_add(&b, "", 1);
	assert_string_equal(
		b.p,
		"{\n\"limit_bytes\":100,\n\"limit_of\":\"memory.max\",\n\"limit_used_bytes\":40,\n\"group_bytes\":40");
	mw_buf_free(&b);
}

/* --- by chance ---------------------------------------------------------------------- */

static uint64_t seed;

static unsigned chance(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)((seed >> 33) % n);
}

struct model {
	enum mw_limit_of of;
	uint64_t bytes, used;
};

static void better(struct model *m, enum mw_limit_of of, uint64_t bytes, uint64_t used)
{
	if (!m->of || bytes < m->bytes || (bytes == m->bytes && of < m->of))
		*m = (struct model){ of, bytes, used };
}

/* One group's files; `folder` as seen from the root. */
static void plant_group(struct model *m, const char *folder, bool v1)
{
	uint64_t max = (1 + chance(8)) * GIB, high = (1 + chance(8)) * GIB,
		 used = 4096 + chance(1000000), active = chance(2000), inactive = chance(2000);
	bool known = chance(4) != 0, stat = chance(4) != 0;
	char text[200], path[512];

	if (!known) {
		used = 0;
	} else {
		plant_number(folder, v1 ? "memory.usage_in_bytes" : "memory.current", used);
		used -= stat ? active + inactive : 0;
	}
	if (stat) {
		snprintf(path, sizeof(path), "%s/memory.stat", folder);
		snprintf(text, sizeof(text),
			 "anon 5\n%sactive_file %" PRIu64 "\n%sinactive_file %" PRIu64 "\nlast 1\n",
			 v1 ? "total_" : "", active, v1 ? "total_" : "", inactive);
		plant(path, text);
	}
	switch (chance(4)) {
	case 0:
		snprintf(path, sizeof(path), "%s/%s", folder, v1 ? "memory.limit_in_bytes" : "memory.max");
		plant(path, v1 ? "9223372036854771712\n" : "max\n");
		break;
	case 1:
		break; /* the root of a tree has no such file */
	default:
		plant_number(folder, v1 ? "memory.limit_in_bytes" : "memory.max", max);
		better(m, v1 ? MW_LIMIT_V1 : MW_LIMIT_MAX, max, used);
	}
	if (!v1 && chance(2)) {
		plant_number(folder, "memory.high", high);
		better(m, MW_LIMIT_HIGH, high, used);
	}
}

/* A tree of one version: its line of cgroup, of mountinfo, and its groups, innermost first. */
static void plant_tree(struct model *m, char *cgroup, char *mounts, bool v1)
{
	static const char *const names[] = { "/a", "/system.slice", "/pod x", "/kube", "/b" };
	unsigned depth = chance(5), hidden = chance(3) ? 0 : chance(depth + 1);
	bool namespaced = chance(4) == 0;
	char path[256] = "", shown[256] = "", folder[512];
	const char *mount = v1 ? V1 : V2;

	for (unsigned i = 0; i < depth; i++)
		strcat(i < hidden ? path : shown, names[chance(5)]);
	/* mountinfo writes a blank as \040, cgroup writes it as it is */
	sprintf(mounts + strlen(mounts), "30 22 0:27 ");
	if (namespaced || !*path) {
		strcat(mounts, "/");
	} else {
		for (const char *s = path; *s; s++)
			sprintf(mounts + strlen(mounts), *s == ' ' ? "\\040" : "%c", *s);
	}
	sprintf(mounts + strlen(mounts),
		v1 ? " " V1 " rw - cgroup none rw,cpu,memory\n" : " " V2 " rw - cgroup2 none rw\n");
	sprintf(cgroup + strlen(cgroup), v1 ? "7:cpu,memory:%s%s%s\n" : "0::%s%s%s\n",
		namespaced ? "" : path, shown, *shown || (*path && !namespaced) ? "" : "/");
	snprintf(folder, sizeof(folder), "%s%s", mount, shown);
	for (;;) {
		plant_group(m, folder, v1);
		if (strlen(folder) == strlen(mount))
			break;
		*strrchr(folder, '/') = '\0';
	}
}

TEST(trees_by_chance)
{
	seed = unit_seed();
	for (int i = 0; i < 400; i++) {
		char cgroup[1024] = "3:freezer:/z\n", mounts[1024] = "1 0 0:1 / / rw - ext4 /dev/x rw\n";
		struct model m = { 0 };
		unsigned which = chance(4);

		clear();
		if (which != 1)
			plant_tree(&m, cgroup, mounts, false);
		if (which != 2)
			plant_tree(&m, cgroup, mounts, true);
		plant("/proc/self/cgroup", cgroup);
		plant("/proc/self/mountinfo", mounts);
		if (chance(3)) {
			machine(4 * GIB, GIB);
			better(&m, MW_LIMIT_MACHINE, 4 * GIB, 3 * GIB);
		}
		look();
		if (l.of != m.of || (m.of && (l.bytes != m.bytes || l.used != m.used)))
			fail_msg("tree %d: %s of %" PRIu64 ", used %" PRIu64 "; right is %s of %" PRIu64
				 ", used %" PRIu64 "\n%s%s",
				 i, mw_limit_names[l.of], l.bytes, l.used, mw_limit_names[m.of], m.bytes,
				 m.used, cgroup, mounts);
		nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		*root = '\0';
	}
	clear();
}
