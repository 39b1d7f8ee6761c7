package op

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestBroadcastColumns holds operators of a matrix and a number for each of its rows against a loop, with rows of several lengths, on one
// thread and on several, and of types that no kernel writes out.
func TestBroadcastColumns(t *testing.T) {
	pool := threads.New(3)
	defer pool.Close()
	for _, s := range [][2]tensor.Dim{{5, 1}, {5, 3}, {300, 7}, {300, 63}, {1, 64}, {7, 100}, {300, 128}, {41, 511}, {40, 512}, {40, 513}, {20, 1024}, {2, 9000}} {
		x, col := wave(s[0], s[1]), wave(s[0], 1)
		for _, parts := range []tensor.Dim{1, 5} { // matrices, and vectors that are columns of each
			many, cols := x, col
			if parts > 1 {
				many, cols = wave(parts, s[0], s[1]), wave(parts, 1, s[1])
			}
			for _, k := range []*Kernel{&SubF32, &SubI32, &SubF64} {
				a, b := halfOf(many, k.DType), halfOf(cols, k.DType)
				for _, tier := range kernel.Tiers() {
					for n, env := range map[int]*Env{1: {}, 3: {Parallel: pool.Run, Threads: 3}} {
						for i, args := range [][]any{{a, b, 1}, {b, a, 1}} {
							t.Run(fmt.Sprintf("%v of %v/%v/%v/%d/%d", s, parts, k.DType, tier, n, i), func(t *testing.T) {
								got := halfOf(plannedIn(t, env, k, tier, false, args...), tensor.Float)
								m, c := elems[float32](many), elems[float32](cols)
								for j, v := range elems[float32](got) {
									at := j / int(s[1])
									if parts > 1 {
										at = at/int(s[0])*int(s[1]) + j%int(s[1])
									}
									want := m[j] - c[at]
									if i == 1 {
										want = c[at] - m[j]
									}
									if v != want {
										t.Fatalf("element %d: %v, want %v", j, v, want)
									}
								}
							})
						}
					}
				}
			}
		}
	}
}

// crowd runs pieces of a grain at once, each in a goroutine of its own.
func crowd(n, grain int, run func(lo, hi int)) {
	var all sync.WaitGroup
	for lo := 0; lo < n; lo += grain {
		all.Go(func() { run(lo, min(lo+grain, n)) })
	}
	all.Wait()
}

// TestColumnsInParallel: threads divide the rows of matrices with a number for each row, wherever dimensions become one and where not; none
// takes the place of another for what it writes out.
func TestColumnsInParallel(t *testing.T) {
	for _, s := range [][2]dims{{{300, 100}, {300, 1}}, {{8, 128, 200}, {128, 1}}, {{8, 128, 200}, {8, 1, 1}}, {{3, 7, 40, 90}, {3, 1, 40, 1}}, {{6, 500, 7}, {500, 1}},
		{{40, 700, 2}, {1, 700, 1}}} {
		x, col := wave(s[0]...), iota32(s[1]...)
		shared := false
		env := &Env{Threads: 4, Parallel: func(n, grain int, run func(lo, hi int)) {
			shared = true
			crowd(n, grain, run)
		}}
		for _, tier := range kernel.Tiers() {
			want := planned(t, &SubF32, tier, false, x, col, 1)
			for range 5 {
				if got := plannedIn(t, env, &SubF32, tier, false, x, col, 1); !shared || !slices.Equal(elems[float32](got), elems[float32](want)) {
					t.Errorf("%v, %v: shared %v, other results", s, tier, shared)
				}
			}
		}
	}
}

// TestFillAll repeats bytes of several sizes, less and more than are copied at a time.
func TestFillAll(t *testing.T) {
	for _, size := range []int{1, 8, 24, 1000, fillMost, fillMost + 3} {
		for _, n := range []int{size, 3 * size, 10*fillMost/size*size + size, 5*fillMost + 5} {
			all := make([]byte, n)
			for i := range min(size, n) {
				all[i] = byte(i*7 + i/256)
			}
			fillAll(all, min(size, n))
			for i, v := range all {
				if v != all[i%size] {
					t.Fatalf("%d bytes of %d: byte %d is %d, want %d", n, size, i, v, all[i%size])
				}
			}
		}
	}
}

// TestFillRun fills lengths around those from which on it copies, of all sizes of elements, and nothing beyond.
func TestFillRun(t *testing.T) {
	for n := range 3 * fillLeast {
		checkFill(t, n, uint8(0xa1))
		checkFill(t, n, uint16(0xa1b2))
		checkFill(t, n, uint32(0xa1b2c3d4))
		checkFill(t, n, uint64(0xa1b2c3d4e5f60718))
	}
}

func checkFill[T word](t *testing.T, n int, x T) {
	o := make([]T, n+1)
	fillRun(o[:n], x)
	if at := slices.IndexFunc(o[:n], func(v T) bool { return v != x }); at >= 0 || o[n] != 0 {
		t.Errorf("%d of %x: got %x", n, x, o)
	}
}

// TestLessRoom: what is written out for speed is left out where memory has a limit.
func TestLessRoom(t *testing.T) {
	weights := halfOf(wave(64, 4096), tensor.Half)
	for _, c := range []struct {
		k        *Kernel
		args     []any
		constant bool
		limit    int
	}{
		{&SubF32, []any{wave(300, 128), wave(300, 1), 1}, false, 2 << 10},
		{&SubF32, []any{wave(300, 20), wave(300, 1), 1}, false, 10 << 10},
		{&SubF32, []any{wave(300, 20), wave(300, 1), 1}, false, 2 << 10},
		{&LinearF16, []any{wave(64, 4096), weights, nil}, true, 100 << 10},
	} {
		for _, tier := range kernel.Tiers()[1:] {
			want := planned(t, c.k, tier, c.constant, c.args...)
			v := invokerOf(t, c.k, &Env{Temp: &Temp{Limit: c.limit}, Threads: 4, Parallel: crowd}, vals(c.args...), Options{Tier: tier}, 0)
			if err := v.Call(); err != nil {
				t.Errorf("%v with %d bytes: %v", tier, c.limit, err)
			} else if !slices.Equal(elems[float32](v.Outs[0]), elems[float32](want)) {
				t.Errorf("%v with %d bytes: other results", tier, c.limit)
			}
		}
	}
}

// TestSections moves runs of several lengths between a tensor and a part of it, either way.
func TestSections(t *testing.T) {
	for n := tensor.Dim(1); n <= 14; n++ {
		for _, rows := range []tensor.Dim{1, 5} {
			a, b, whole := wave(rows, n), wave(rows, n+2), iota32(rows, 2*n+2)
			if !copySection[uint32](whole, a, section{1, 0, int(n)}, true) || !copySection[uint32](whole, b, section{1, int(n), int(n) + 2}, true) {
				t.Fatal("sections are not copied")
			}
			for i, v := range elems[float32](whole) {
				row, col := i/int(2*n+2), i%int(2*n+2)
				want := elems[float32](a)[row*int(n)+col%int(n)]
				if col >= int(n) {
					want = elems[float32](b)[row*int(n+2)+col-int(n)]
				}
				if v != want {
					t.Fatalf("%d and %d columns: element %d is %v, want %v", n, n+2, i, v, want)
				}
			}
			for _, c := range []struct {
				part *tensor.Tensor
				s    section
			}{{a, section{1, 0, int(n)}}, {b, section{1, int(n), int(n) + 2}}} {
				got := iota32(c.part.Sizes...)
				if copySection[uint32](whole, got, c.s, false); !slices.Equal(elems[float32](got), elems[float32](c.part)) {
					t.Errorf("%d columns of %d: got %v, want %v", c.s.n, 2*n+2, elems[float32](got), elems[float32](c.part))
				}
			}
		}
	}
}
