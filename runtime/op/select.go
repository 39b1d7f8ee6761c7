package op

import "math/bits"

// The order in which PyTorch leaves equal elements of topk and kthvalue follows from the algorithms that it uses: those
// of the C++ library that it is built with, libstdc++ (bits/stl_algo.h and stl_heap.h: nth_element, sort and
// partial_sort), and a selection of its own. They are done here step by step, so that equal elements come from the same
// places.

// ranks is a row of elements with the order that is wanted: before says whether a comes before b.
type ranks[T number] struct {
	row    []ranked[T]
	before func(a, b ranked[T]) bool
}

func (r *ranks[T]) less(i, j int) bool { return r.before(r.row[i], r.row[j]) }

func (r *ranks[T]) swap(i, j int) { r.row[i], r.row[j] = r.row[j], r.row[i] }

// isNaN reports whether x is not a number.
func isNaN[T number](x T) bool { return x != x }

// greater orders by falling value, NaN first.
func greater[T number](a, b ranked[T]) bool { return isNaN(a.x) && !isNaN(b.x) || a.x > b.x }

// less orders by rising value, NaN last.
func less[T number](a, b ranked[T]) bool { return !isNaN(a.x) && isNaN(b.x) || a.x < b.x }

// top brings the first k elements to the front of the row, sorted if sorted is set, as PyTorch's topk.
func (r *ranks[T]) top(k int, sorted bool) {
	n := len(r.row)
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
func (r *ranks[T]) nth(k int) {
	lo, hi := 0, len(r.row)
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
func (r *ranks[T]) sort(n int) {
	if n < 2 {
		return
	}
	r.sortParts(0, n, depth(n))
	r.insert(0, min(n, sortedRun))
	for i := sortedRun; i < n; i++ {
		r.insertOne(i)
	}
}

func (r *ranks[T]) sortParts(lo, hi, left int) {
	for ; hi-lo > sortedRun; left-- {
		if left == 0 {
			part := ranks[T]{r.row[lo:hi], r.before}
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
func (r *ranks[T]) partition(lo, hi int) int {
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
func (r *ranks[T]) medianFirst(first, a, b, c int) {
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
func (r *ranks[T]) insert(lo, hi int) {
	for i := lo + 1; i < hi; i++ {
		if r.less(i, lo) {
			x := r.row[i]
			copy(r.row[lo+1:i+1], r.row[lo:i])
			r.row[lo] = x
			continue
		}
		r.insertOne(i)
	}
}

// insertOne moves element i down to its place among those before it; one of them must not come after it.
func (r *ranks[T]) insertOne(i int) {
	x := r.row[i]
	for ; r.before(x, r.row[i-1]); i-- {
		r.row[i] = r.row[i-1]
	}
	r.row[i] = x
}

// selectHeap makes lo to mid a heap of the first elements of lo to hi, the last of them on top.
func (r *ranks[T]) selectHeap(lo, mid, hi int) {
	heap := ranks[T]{r.row[lo:mid], r.before}
	n := mid - lo
	for parent := n/2 - 1; parent >= 0; parent-- {
		heap.sift(parent, n, heap.row[parent])
	}
	for i := mid; i < hi; i++ {
		if r.less(i, lo) {
			x := r.row[i]
			r.row[i] = r.row[lo]
			heap.sift(0, n, x)
		}
	}
}

// sortHeap sorts the heap that the first n elements are.
func (r *ranks[T]) sortHeap(n int) {
	for n > 1 {
		n--
		x := r.row[n]
		r.row[n] = r.row[0]
		r.sift(0, n, x)
	}
}

// sift fills the hole in the heap of n elements, down to a leaf, and lets x rise from there.
func (r *ranks[T]) sift(hole, n int, x ranked[T]) {
	top, child := hole, hole
	for child < (n-1)/2 {
		child = 2 * (child + 1)
		if r.less(child, child-1) {
			child--
		}
		r.row[hole] = r.row[child]
		hole = child
	}
	if n%2 == 0 && child == (n-2)/2 {
		child = 2*child + 1
		r.row[hole] = r.row[child]
		hole = child
	}
	for parent := (hole - 1) / 2; hole > top && r.before(r.row[parent], x); parent = (hole - 1) / 2 {
		r.row[hole] = r.row[parent]
		hole = parent
	}
	r.row[hole] = x
}

// quick puts the element in place k that sorting would put there: PyTorch's quick_select_template (ATen's Sorting.cpp).
func (r *ranks[T]) quick(k int) {
	order := func(i, j int) {
		if r.less(j, i) {
			r.swap(i, j)
		}
	}
	for lo, hi := 0, len(r.row)-1; lo < hi; {
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
func (r *ranks[T]) around(lo, hi int) (i, j int) {
	i, j = lo+1, hi
	pivot := r.row[lo]
	for {
		for i++; r.before(r.row[i], pivot); i++ {
		}
		for j--; r.before(pivot, r.row[j]); j-- {
		}
		if j < i {
			r.swap(lo, j)
			return i, j
		}
		r.swap(i, j)
	}
}
