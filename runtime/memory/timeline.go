package memory

import "slices"

// A timeline is made for more than fewItems items of which on average at most one in sparse is in use at a step: it sorts those. To look
// through all of fewer, or through more that are in use at a time, takes less time.
var fewItems, sparse = 1 << 11, 32

// mostItems is how many items a timeline has at most.
const mostItems = 1 << numberBits

// numberBits are the bits that a key has for the number of an item; an offset has the other 47, which no memory fills.
const numberBits = 17

// timeline finds the items, of those that are placed, that are in use with another one: those that are in use at its first step, in a
// segment tree, and those that begin at its other steps. Steps are numbers of the steps at which an item begins.
type timeline struct {
	items       []Item
	first, last []int32 // steps by item
	nodes       []int32 // the list of each node of the tree: leaf i is the node behind those of all steps
	starts      []int32 // the list of items that begin at each step
	members     []member
	apart       []int    // items that are Apart
	placed      []int    // in this order
	number      []uint64 // of each item in placed
	found       []int
	keys        []uint64
}

// member is an item of a list, and where the next member is, both from 1 on; 0 ends the list.
type member struct{ item, next int32 }

// newTimeline is a timeline without items, nil if there are too few of them, or too many, or too many at a time.
func newTimeline(items []Item) *timeline {
	if len(items) <= fewItems || len(items) > mostItems {
		return nil
	}
	steps := make([]int, len(items))
	for i := range items {
		steps[i] = items[i].First
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	t := &timeline{items: items, first: make([]int32, len(items)), last: make([]int32, len(items)), nodes: make([]int32, 2*len(steps)),
		starts: make([]int32, len(steps)), number: make([]uint64, len(items))}
	uses := 0
	for i := range items {
		first, _ := slices.BinarySearch(steps, items[i].First)
		last, begins := slices.BinarySearch(steps, items[i].Last)
		if !begins {
			last--
		}
		t.first[i], t.last[i] = int32(first), int32(last)
		uses += max(last-first+1, 0)
	}
	if uses/len(steps)*sparse > len(items) {
		return nil
	}
	return t
}

// place adds item i.
func (t *timeline) place(i int) {
	t.number[i] = uint64(len(t.placed))
	t.placed = append(t.placed, i)
	t.link(&t.starts[t.first[i]], i)
	leaves := int32(len(t.starts))
	for low, high := t.first[i]+leaves, t.last[i]+leaves+1; low < high; low, high = low/2, high/2 {
		if low&1 != 0 {
			t.link(&t.nodes[low], i)
			low++
		}
		if high&1 != 0 {
			high--
			t.link(&t.nodes[high], i)
		}
	}
	if t.items[i].Apart {
		t.apart = append(t.apart, i)
	}
}

func (t *timeline) link(list *int32, i int) {
	t.members = append(t.members, member{int32(i), *list})
	*list = int32(len(t.members))
}

// with are the placed items that overlap item i, in memory that the next call takes.
func (t *timeline) with(i int) []int {
	t.found = t.found[:0]
	for node := t.first[i] + int32(len(t.starts)); node > 0; node /= 2 {
		t.list(t.nodes[node], i)
	}
	for step := t.first[i] + 1; step <= t.last[i]; step++ {
		t.list(t.starts[step], i)
	}
	if t.items[i].Apart {
		for _, j := range t.apart {
			if !t.meet(i, j) {
				t.found = append(t.found, j)
			}
		}
	}
	return t.found
}

// meet reports whether two items are in use at the same step.
func (t *timeline) meet(i, j int) bool {
	return t.items[i].First <= t.items[j].Last && t.items[j].First <= t.items[i].Last
}

// list finds the members of a list that are in use with item i.
func (t *timeline) list(at int32, i int) {
	for ; at > 0; at = t.members[at-1].next {
		if j := int(t.members[at-1].item); t.meet(i, j) {
			t.found = append(t.found, j)
		}
	}
}

// byOffset is with in the order of offsets, and of equal ones the other way round than they were placed.
func (t *timeline) byOffset(i int, offsets []int64) []int {
	list := t.with(i)
	t.keys = t.keys[:0]
	for _, j := range list {
		t.keys = append(t.keys, uint64(offsets[j])<<numberBits|(mostItems-1-t.number[j]))
	}
	slices.Sort(t.keys)
	for k, key := range t.keys {
		list[k] = t.placed[mostItems-1-key%mostItems]
	}
	return list
}
