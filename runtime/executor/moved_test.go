package executor

import (
	"os"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// TestMovedLiteral moves a number that calls take, too, which leaves them as constant as they were.
func TestMovedLiteral(t *testing.T) {
	b, err := os.ReadFile("testdata/images/portable.pte")
	if err != nil {
		t.Fatal(err)
	}
	var want int
	for _, moved := range []bool{false, true} {
		p, err := pte.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		plan := p.Plans[0]
		c := &plan.Chains[0]
		number := int32(-1)
		for _, a := range c.Instructions[0].Args {
			if plan.Values[a].Type == pte.Int {
				number = a
			}
		}
		if number < 0 {
			t.Fatal("the first call takes no number")
		}
		n := int32(len(plan.Values))
		plan.Values = append(plan.Values, pte.EValue{Type: pte.Int}, pte.EValue{Type: pte.Int})
		move := pte.Instruction{Type: pte.MoveCall, A: n, B: n + 1}
		if moved {
			move.A = number
		}
		c.Instructions = append([]pte.Instruction{move}, c.Instructions...)
		got := 0
		for _, s := range loadOf(t, p, LoadOptions{Kernels: op.Kernels, Threads: 1}).methods[0].steps {
			if s.stable {
				got++
			}
		}
		if !moved {
			want = got
		} else if got != want || got == 0 {
			t.Errorf("%d steps have constant arguments, want %d", got, want)
		}
	}
}
