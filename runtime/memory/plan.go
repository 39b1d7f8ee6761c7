// Package memory places values with known lifetimes into one arena.
package memory

import (
	"errors"
	"slices"
)

// Item is a value to place.
type Item struct {
	// Size is its bytes.
	Size int64
	// First and Last are the first and the last step at which it is in use; both count.
	First, Last int
	// Align is what its offset must be a multiple of; 0 means 1.
	Align int64
	// Apart items share no bytes with each other, whenever they are in use.
	Apart bool
}

// MaxTotal is the largest arena that Plan makes.
const MaxTotal = 1 << 46

// ErrTooLarge is what Plan says if the arena would exceed MaxTotal.
var ErrTooLarge = errors.New("plan memory: arena too large")

func (i *Item) overlaps(j *Item) bool {
	return i.First <= j.Last && j.First <= i.Last || i.Apart && j.Apart
}

func align(n, a int64) int64 {
	switch {
	case a <= 1:
		return n
	case a&(a-1) == 0:
		return (n + a - 1) &^ (a - 1)
	}
	return (n + a - 1) / a * a
}

// LowerBound is the largest sum of sizes in use at one step: no plan is smaller.
func LowerBound(items []Item) int64 {
	type edge struct {
		step  int
		bytes int64
	}
	var edges []edge
	for _, it := range items {
		edges = append(edges, edge{it.First, it.Size}, edge{it.Last + 1, -it.Size})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.step != b.step {
			return a.step - b.step
		}
		return cmpInt64(a.bytes, b.bytes)
	})
	var live, peak int64
	for _, e := range edges {
		live += e.bytes
		peak = max(peak, live)
	}
	return peak
}

func cmpInt64(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Plan gives each item an offset such that items in use at the same step do not overlap, and the arena's
// size. It tries upstream's greedy and several orders of best fit, and keeps the smallest; the
// result depends on nothing but items.
func Plan(items []Item) (offsets []int64, total int64, err error) {
	if err := checkSum(items); err != nil {
		return nil, 0, err
	}
	offsets, total = greedy(items)
	if enough := LowerBound(items); total > enough {
		offsets, total = improve(items, offsets, total, enough)
	}
	return offsets, total, nil
}

// PlanWithin is Plan, but takes the first plan that it finds of an arena of at most limit bytes, and any one if there is none.
func PlanWithin(items []Item, limit int64) (offsets []int64, total int64, err error) {
	if err := checkSum(items); err != nil {
		return nil, 0, err
	}
	offsets, total = bestFitWithin(items, ordered(items, orders[0]), NoLimit)
	if total <= limit || LowerBound(items) > limit {
		return offsets, total, nil
	}
	if o, t := greedy(items); t < total {
		offsets, total = o, t
	}
	if total > limit {
		offsets, total = improve(items, offsets, total, limit)
	}
	return offsets, total, nil
}

// checkSum is ErrTooLarge for items that no arena holds, even one after another.
func checkSum(items []Item) error {
	var sum int64
	for _, it := range items {
		if it.Size < 0 || it.Size > MaxTotal || it.Align > MaxTotal || sum > MaxTotal {
			return ErrTooLarge
		}
		sum += align(it.Size, it.Align)
	}
	return nil
}

// improve tries the orders of best fit until a plan has at most enough bytes, and gives the smallest one, that of total bytes included.
func improve(items []Item, offsets []int64, total, enough int64) ([]int64, int64) {
	for _, less := range orders {
		if o, t := repair(items, ordered(items, less), enough); t < total {
			offsets, total = o, t
		}
		if total <= enough {
			break
		}
	}
	return offsets, total
}

// repairs is how often an order is changed that gave a plan above the bound.
const repairs = 8

// repair plans by best fit in this order, and again with the items first that ended last, until a plan has at most enough bytes; the
// smallest plan is kept.
func repair(items []Item, order []int, enough int64) (offsets []int64, total int64) {
	offsets, total = bestFitWithin(items, order, NoLimit)
	last, size := offsets, total
	for i := 0; i < repairs && total > enough; i++ {
		order = lastFirst(items, last, size, order)
		if last, size = bestFitWithin(items, order, NoLimit); size < total {
			offsets, total = last, size
		}
	}
	return offsets, total
}

// lastFirst is order with the items first that end at total.
func lastFirst(items []Item, offsets []int64, total int64, order []int) []int {
	var first, rest []int
	for _, i := range order {
		if offsets[i]+align(items[i].Size, items[i].Align) == total {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	return append(first, rest...)
}

// orders are the orders in which best fit is tried.
var orders = []func(a, b *Item) int{
	func(a, b *Item) int { return cmpInt64(b.Size, a.Size) },
	func(a, b *Item) int { return cmpInt64(b.Size, a.Size)*2 + sign(b.First-a.First) },
	func(a, b *Item) int {
		return cmpInt64(b.Size*int64(b.Last-b.First+1), a.Size*int64(a.Last-a.First+1))
	},
	func(a, b *Item) int { return sign((b.Last-b.First)-(a.Last-a.First))*2 + cmpInt64(b.Size, a.Size) },
	func(a, b *Item) int { return sign(a.First-b.First)*2 + cmpInt64(b.Size, a.Size) },
}

func sign(n int) int { return cmpInt64(int64(n), 0) }

func ordered(items []Item, less func(a, b *Item) int) []int {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return less(&items[i], &items[j]) })
	return order
}

// object is a part of the arena that items share in turn, as in upstream's greedy.
type object struct {
	size, align int64
	// end is where the last of its items ends that are in use with the one that is being placed.
	end int64
}

// greedy is ExecuTorch's algorithm: descending sizes, equal ones in reverse order, each into
// the first shared object with room.
func greedy(items []Item) ([]int64, int64) {
	order := ordered(items, func(a, b *Item) int {
		return cmpInt64(align(a.Size, a.Align), align(b.Size, b.Align))
	})
	slices.Reverse(order)
	var objects []object
	of, offsets := make([]int, len(items)), make([]int64, len(items)) // each item's object, and where it lies in that
	t := newTimeline(items)
	for n, i := range order {
		near, it := order[:n], &items[i]
		if t != nil {
			near = t.with(i)
			t.place(i)
		}
		for _, j := range near {
			if items[j].overlaps(it) {
				o := &objects[of[j]]
				o.end = max(o.end, offsets[j]+max(align(items[j].Size, items[j].Align), 1))
			}
		}
		size := align(it.Size, it.Align)
		at := slices.IndexFunc(objects, func(o object) bool { return o.end == 0 || align(o.end, it.Align)+size <= o.size })
		if at < 0 {
			at = len(objects)
			objects = append(objects, object{size: size, align: 1})
		}
		o := &objects[at]
		of[i], offsets[i], o.align = at, align(o.end, it.Align), max(o.align, it.Align)
		for k := range objects {
			objects[k].end = 0
		}
	}
	var total int64
	starts := make([]int64, len(objects))
	for k := range objects {
		starts[k] = align(total, objects[k].align)
		total = starts[k] + objects[k].size
	}
	for i := range offsets {
		offsets[i] += starts[of[i]]
	}
	return offsets, total
}

// bestFitWithin places items in this order, each into the smallest gap that fits between those that are in use with it.
// An item that would end beyond limit bytes is left without a place.
func bestFitWithin(items []Item, order []int, limit int64) ([]int64, int64) {
	offsets := make([]int64, len(items))
	var done []int // placed items by offset
	var total int64
	t := newTimeline(items)
	for _, i := range order {
		near := done
		if t != nil {
			near = t.byOffset(i, offsets)
		}
		offsets[i] = gap(items, offsets, near, i)
		end := offsets[i] + align(items[i].Size, items[i].Align)
		if limit != NoLimit && end > limit {
			offsets[i] = without
			continue
		}
		total = max(total, end)
		if t != nil {
			t.place(i)
			continue
		}
		at, _ := slices.BinarySearchFunc(done, offsets[i], func(j int, off int64) int { return cmpInt64(offsets[j], off) })
		done = slices.Insert(done, at, i)
	}
	return offsets, total
}

// gap is the offset of the smallest gap for item i among placed items, by offset, or of the end.
func gap(items []Item, offsets []int64, done []int, i int) int64 {
	it := &items[i]
	best, bestSize, end := int64(-1), int64(0), int64(0)
	for _, j := range done {
		if !items[j].overlaps(it) {
			continue
		}
		from := align(end, it.Align)
		if room := offsets[j] - from; room >= it.Size && (best < 0 || room < bestSize) {
			best, bestSize = from, room
		}
		end = max(end, offsets[j]+items[j].Size)
	}
	if best < 0 {
		return align(end, it.Align)
	}
	return best
}
