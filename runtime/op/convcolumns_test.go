package op

import (
	"fmt"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestColumns holds transposed convolutions that have no phases, or few channels, against their definition: whatever the order of the
// channels, with one thread and with several, with groups that are computed together and one by one.
func TestColumns(t *testing.T) {
	defer func(most int) { columnsMost = most }(columnsMost)
	for _, c := range []convCase{
		{"few channels", dims{2, 8, 13, 11}, dims{8, 3, 4, 4}, dims{2, 2}, dims{1, 1}, dims{1, 1}, dims{0, 0}, true, 1},
		{"depthwise", dims{1, 6, 7, 5}, dims{6, 1, 8, 8}, dims{4, 4}, dims{2, 2}, dims{1, 1}, dims{0, 0}, true, 6},
		{"groups", dims{1, 10, 9, 20}, dims{10, 7, 3, 3}, dims{2, 1}, dims{1, 0}, dims{1, 1}, dims{1, 0}, true, 5},
		{"dilated", dims{1, 9, 11, 14}, dims{9, 12, 3, 3}, dims{1, 2}, dims{2, 3}, dims{2, 3}, dims{0, 1}, true, 1},
		{"wide padding", dims{1, 12, 15, 16}, dims{12, 16, 3, 3}, dims{2, 2}, dims{2, 2}, dims{1, 1}, dims{0, 0}, true, 1},
		{"windows without a result", dims{1, 3, 4, 2}, dims{3, 5, 2, 4}, dims{3, 3}, dims{4, 2}, dims{1, 1}, dims{2, 2}, true, 1},
		{"rows", dims{3, 16, 90}, dims{16, 1, 16}, dims{8}, dims{0}, dims{1}, dims{0}, true, 1},
		{"volumes", dims{2, 6, 3, 5, 7}, dims{6, 4, 3, 2, 3}, dims{2, 1, 2}, dims{1, 0, 1}, dims{1, 2, 1}, dims{1, 0, 1}, true, 2},
	} {
		x, w := wave(c.in...), wave(c.weight...)
		bias := wave(c.weight[1] * int64(c.groups))
		last := ordered(x, lastOrder(x.Rank(), true)...)
		var want []float32
		for _, tier := range kernel.Tiers() {
			for i, image := range []*tensor.Tensor{x, last} {
				for _, n := range []int{1, 3} {
					for _, columnsMost = range []int{1, 1 << 20} {
						t.Run(fmt.Sprintf("%s/%v/%d/%d/%d", c.name, tier, i, n, columnsMost), func(t *testing.T) {
							pool := threads.New(n)
							defer pool.Close()
							v := boundConv(t, tier, &Env{Temp: new(Temp), Parallel: pool.Run, Threads: n}, vals(c.args(image, w, bias)...), nil)
							for range 2 {
								if err := v.Call(); err != nil {
									t.Fatal(err)
								}
							}
							if n := testing.AllocsPerRun(3, func() { _ = v.Call() }); n != 0 {
								t.Errorf("%v allocations", n)
							}
							out := v.Outs[0]
							if want == nil {
								want = naiveConv(&c, x, w, bias, &out.Meta)
							}
							wantOut(t, out, out.Sizes, want...)
						})
					}
				}
			}
		}
	}
}
