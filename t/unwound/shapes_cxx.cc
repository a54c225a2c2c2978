// SPDX-License-Identifier: GPL-2.0-or-later
// shapes_cxx.cc - frames as compilers make them from C++; see shapes.h.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "shapes.h"

namespace
{

struct Counted {
	struct walk *w;
	explicit Counted(struct walk *of) : w(of)
	{
		w->random++;
	}
	~Counted()
	{
		w->random += 3;
	}
};

struct Base {
	virtual ~Base() = default;
	virtual uint64_t go(struct walk *w) = 0;
};

struct Derived : Base {
	std::string name = "a name that is too long for its own object";
	uint64_t go(struct walk *w) override
	{
		Counted c(w);
		return w->next(w) + name.size();
	}
};

uint64_t virtually(struct walk *w)
{
	Derived d;
	Base *b = &d;
	return b->go(w) + 1;
}

uint64_t quietly(struct walk *w) noexcept
{
	Counted c(w);
	std::vector<uint64_t> v(some(w, 20) + 1, 7);
	return w->next(w) + v.back();
}

uint64_t guarded(struct walk *w)
{
	try {
		Counted c(w);
		if (!w->look)
			throw 1;
		return w->next(w) + 2;
	} catch (int i) {
		return static_cast<uint64_t>(i);
	}
}

// from a handler: __cxa_begin_catch has been called, and the exception is live
uint64_t caught(struct walk *w)
{
	uint64_t r = 0;
	try {
		throw some(w, 9);
	} catch (uint32_t n) {
		Counted c(w);
		r = w->next(w) + n;
	}
	return r;
}

// while an exception passes
struct Looks {
	struct walk *w;
	uint64_t *r;
	~Looks()
	{
		*r = w->next(w);
	}
};

uint64_t unwinding(struct walk *w)
{
	uint64_t r = 0;
	try {
		Looks l{ w, &r };
		throw 1;
	} catch (int) {
		return r + 1;
	}
}

uint64_t lambda(struct walk *w)
{
	uint64_t n = some(w, 9);
	std::function<uint64_t(uint64_t)> f = [w, n](uint64_t m) { return w->next(w) + n * m; };
	return f(3) + 1;
}

uint64_t sorting(struct walk *w)
{
	std::vector<int> v(30);
	bool once = true;
	uint64_t r = 0;
	std::generate(v.begin(), v.end(), [&] { return static_cast<int>(some(w, 50)); });
	std::sort(v.begin(), v.end(), [&](int a, int b) {
		if (once) {
			once = false;
			r = w->next(w) + 1;
		}
		return a < b;
	});
	return r;
}

} // namespace

extern "C" const struct shape_list shapes;
const struct shape_list shapes = { 7, { virtually, quietly, guarded, caught, unwinding, lambda, sorting } };
