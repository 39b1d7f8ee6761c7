package memory

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomItems are up to n items in use at some of as many steps as they say, some from before the first step or to the end, some empty, some
// apart from each other.
func randomItems(r *rand.Rand, n, steps, longest int) []Item {
	items := make([]Item, r.IntN(n))
	for i := range items {
		first := r.IntN(steps)
		items[i] = Item{Size: int64(r.IntN(100)), First: first, Last: first + r.IntN(longest), Align: 1 << r.IntN(5), Apart: r.IntN(20) == 0}
		switch r.IntN(40) {
		case 0:
			items[i].Size = 0
		case 1:
			items[i].First = -1
		case 2:
			items[i].Last = math.MaxInt
		case 3:
			items[i].Last = items[i].First - 1 - r.IntN(3) // never in use, though it keeps others away
		}
	}
	return items
}

// TestTimeline plans in the same way whether items are looked through one by one or by a timeline.
func TestTimeline(t *testing.T) {
	defer func(few, many int) { fewItems, sparse = few, many }(fewItems, sparse)
	sparse = 0
	r := rand.New(rand.NewPCG(1, 1))
	for k := range 600 {
		items := randomItems(r, 1+k/2, 1+r.IntN(1+k), 1+r.IntN(30))
		plan := func(few int) (offsets []int64) {
			fewItems = few
			for _, f := range []func() ([]int64, int64){
				func() ([]int64, int64) { return greedy(items) },
				func() ([]int64, int64) { return bestFitWithin(items, ordered(items, orders[k%len(orders)]), NoLimit) },
				func() ([]int64, int64) { return bestFitWithin(items, ordered(items, orders[0]), 500) },
			} {
				list, total := f()
				offsets = append(append(offsets, list...), total)
			}
			return offsets
		}
		if got, want := plan(0), plan(math.MaxInt); !slices.Equal(got, want) {
			t.Fatalf("%d: %v with a timeline, %v without, of %v", k, got, want, items)
		}
	}
}

// TestTimelineFinds finds what overlaps an item, each once.
func TestTimelineFinds(t *testing.T) {
	defer func(few, many int) { fewItems, sparse = few, many }(fewItems, sparse)
	fewItems, sparse = 0, 0
	r := rand.New(rand.NewPCG(2, 1))
	for k := range 200 {
		items := randomItems(r, 60, 40, 20)
		if k == 0 {
			items = []Item{{Size: 8, First: 5, Last: 3, Apart: true}, {Size: 8, First: 4, Last: 10, Apart: true}}
		}
		timeline := newTimeline(items)
		for i := range items {
			var want []int
			for j := range i {
				if items[i].overlaps(&items[j]) {
					want = append(want, j)
				}
			}
			got := slices.Sorted(slices.Values(timeline.with(i)))
			if !slices.Equal(got, want) {
				t.Fatalf("item %d: found %v, want %v, of %v", i, got, want, items)
			}
			timeline.place(i)
		}
	}
}

// TestGreedy holds greedy against its definition: an item goes behind all that are in use with it in the first object with room, or becomes one.
func TestGreedy(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for k := range 300 {
		items := randomItems(r, 50, 30, 12)
		got, total := greedy(items)
		order := ordered(items, func(a, b *Item) int { return cmp.Compare(align(a.Size, a.Align), align(b.Size, b.Align)) })
		slices.Reverse(order)
		var objects [][]int
		var sizes, at []int64
		at = make([]int64, len(items))
		for _, i := range order {
			size, home := align(items[i].Size, items[i].Align), -1
			for o := 0; o < len(objects) && home < 0; o++ {
				end := int64(0)
				for _, j := range objects[o] {
					if items[i].overlaps(&items[j]) {
						end = max(end, at[j]+max(align(items[j].Size, items[j].Align), 1))
					}
				}
				if at[i] = align(end, items[i].Align); end == 0 || at[i]+size <= sizes[o] {
					home = o
				}
			}
			if home < 0 {
				home, at[i] = len(objects), 0
				objects, sizes = append(objects, nil), append(sizes, size)
			}
			objects[home] = append(objects[home], i)
		}
		want := int64(0)
		for o, list := range objects {
			for _, i := range list {
				want = align(want, items[i].Align)
			}
			for _, i := range list {
				if got[i] != want+at[i] {
					t.Fatalf("%d: item %d lies at %d, want %d, of %v", k, i, got[i], want+at[i], items)
				}
			}
			want += sizes[o]
		}
		if total != want {
			t.Fatalf("%d: %d bytes, want %d", k, total, want)
		}
	}
}
