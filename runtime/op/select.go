package op

import "math/bits"

// The order in which PyTorch leaves equal elements of topk and kthvalue follows from the algorithms that it uses: those
// of the C++ library that it is built with, libstdc++ (bits/stl_algo.h and stl_heap.h: nth_element, sort and
// partial_sort), and a selection of its own. They are done here step by step, so that equal elements come from the same
// places.

// ranks is a row of elements, of which those with smaller keys come first.
type ranks []ranked

func (r ranks) less(i, j int) bool { return r[i].key < r[j].key }

func (r ranks) swap(i, j int) { r[i], r[j] = r[j], r[i] }

// top brings the first k elements to the front of the row, sorted if sorted is set, as PyTorch's topk.
func (r ranks) top(k int, sorted bool) {
	n := len(r)
	if k*64 <= n {
		r.selectHeap(0, k, n)
		r.sortHeap(k)
		return
	}
	r.nth(k - 1)
	if sorted {
		r.sort(k - 1)
	}
}

// depth is how often parts may be split before heaps take over.
func depth(n int) int { return 2 * (bits.Len(uint(n)) - 1) }

// nth puts the element in place k that sorting would put there, smaller ones before it.
func (r ranks) nth(k int) {
	lo, hi := 0, len(r)
	if k >= hi {
		return
	}
	for left := depth(hi); hi-lo > 3; left-- {
		if left == 0 {
			r.selectHeap(lo, k+1, hi)
			r.swap(lo, k)
			return
		}
		if cut := r.partition(lo, hi); cut <= k {
			lo = cut
		} else {
			hi = cut
		}
	}
	r.insert(lo, hi)
}

// sortedRun is up to which length sort leaves parts to insertion.
const sortedRun = 16

// sort sorts the first n elements.
func (r ranks) sort(n int) {
	if n < 2 {
		return
	}
	r.sortParts(0, n, depth(n))
	r.insert(0, min(n, sortedRun))
	for i := sortedRun; i < n; i++ {
		r.insertOne(i)
	}
}

func (r ranks) sortParts(lo, hi, left int) {
	for ; hi-lo > sortedRun; left-- {
		if left == 0 {
			part := r[lo:hi]
			part.selectHeap(0, hi-lo, hi-lo)
			part.sortHeap(hi - lo)
			return
		}
		cut := r.partition(lo, hi)
		r.sortParts(cut, hi, left-1)
		hi = cut
	}
}

// partition splits lo to hi around the median of three elements, and gives where the second part begins.
func (r ranks) partition(lo, hi int) int {
	r.medianFirst(lo, lo+1, lo+(hi-lo)/2, hi-1)
	i, j := lo+1, hi
	for {
		for r.less(i, lo) {
			i++
		}
		j--
		for r.less(lo, j) {
			j--
		}
		if i >= j {
			return i
		}
		r.swap(i, j)
		i++
	}
}

// medianFirst swaps the median of the elements at a, b and c to the place first.
func (r ranks) medianFirst(first, a, b, c int) {
	ab, bc, ac := r.less(a, b), r.less(b, c), r.less(a, c)
	switch {
	case ab && bc || !ab && !ac && !bc:
		r.swap(first, b)
	case ab && ac || !ab && !ac:
		r.swap(first, c)
	default:
		r.swap(first, a)
	}
}

// insert sorts lo to hi by insertion.
func (r ranks) insert(lo, hi int) {
	for i := lo + 1; i < hi; i++ {
		if r.less(i, lo) {
			x := r[i]
			copy(r[lo+1:i+1], r[lo:i])
			r[lo] = x
			continue
		}
		r.insertOne(i)
	}
}

// insertOne moves element i down to its place among those before it; one of them must not come after it.
func (r ranks) insertOne(i int) {
	x := r[i]
	for ; x.key < r[i-1].key; i-- {
		r[i] = r[i-1]
	}
	r[i] = x
}

// selectHeap makes lo to mid a heap of the first elements of lo to hi, the last of them on top.
func (r ranks) selectHeap(lo, mid, hi int) {
	heap := r[lo:mid]
	n := mid - lo
	for parent := n/2 - 1; parent >= 0; parent-- {
		heap.sift(parent, n, heap[parent])
	}
	for i := mid; i < hi; i++ {
		if r.less(i, lo) {
			x := r[i]
			r[i] = r[lo]
			heap.sift(0, n, x)
		}
	}
}

// sortHeap sorts the heap that the first n elements are.
func (r ranks) sortHeap(n int) {
	for n > 1 {
		n--
		x := r[n]
		r[n] = r[0]
		r.sift(0, n, x)
	}
}

// sift fills the hole in the heap of n elements, down to a leaf, and lets x rise from there.
func (r ranks) sift(hole, n int, x ranked) {
	top, child := hole, hole
	for child < (n-1)/2 {
		child = 2 * (child + 1)
		if r.less(child, child-1) {
			child--
		}
		r[hole] = r[child]
		hole = child
	}
	if n%2 == 0 && child == (n-2)/2 {
		child = 2*child + 1
		r[hole] = r[child]
		hole = child
	}
	for parent := (hole - 1) / 2; hole > top && r[parent].key < x.key; parent = (hole - 1) / 2 {
		r[hole] = r[parent]
		hole = parent
	}
	r[hole] = x
}

// quick puts the element in place k that sorting would put there: PyTorch's quick_select_template (ATen's Sorting.cpp).
func (r ranks) quick(k int) {
	order := func(i, j int) {
		if r.less(j, i) {
			r.swap(i, j)
		}
	}
	for lo, hi := 0, len(r)-1; lo < hi; {
		if hi == lo+1 {
			order(lo, hi)
			return
		}
		r.swap(lo+(hi-lo)/2, lo+1)
		order(lo+1, hi)
		order(lo, hi)
		order(lo+1, lo)
		i, j := r.around(lo, hi)
		if j <= k {
			lo = i
		}
		if j >= k {
			hi = j - 1
		}
	}
}

// around splits lo to hi, both included, around the element at lo, the median of three. It goes to place j; from i on
// are those that come after it.
func (r ranks) around(lo, hi int) (i, j int) {
	i, j = lo+1, hi
	pivot := r[lo]
	for {
		for i++; r[i].key < pivot.key; i++ {
		}
		for j--; pivot.key < r[j].key; j-- {
		}
		if j < i {
			r.swap(lo, j)
			return i, j
		}
		r.swap(i, j)
	}
}
