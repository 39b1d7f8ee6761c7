package memory

import (
	"math/rand"
	"testing"
)

func TestPlanNeverOverlaps(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 200 {
		items := make([]Item, r.Intn(40))
		for i := range items {
			first := r.Intn(20)
			items[i] = Item{Size: int64(r.Intn(100)), First: first, Last: first + r.Intn(6), Align: 1 << r.Intn(5)}
		}
		check(t, items)
		checkWithin(t, items)
	}
}

// checkWithin plans within what is enough, and within less than any plan takes.
func checkWithin(t *testing.T, items []Item) {
	t.Helper()
	_, smallest, _ := Plan(items)
	for _, limit := range []int64{smallest, smallest + 20, LowerBound(items) - 1} {
		offsets, total, err := PlanWithin(items, limit)
		if err != nil || limit >= smallest && total > limit {
			t.Fatalf("PlanWithin(%d) = %d, %v; there is a plan of %d", limit, total, err, smallest)
		}
		checkPlan(t, items, offsets, total)
	}
	if _, _, err := PlanWithin([]Item{{Size: MaxTotal}, {Size: 1}, {Size: 1}}, NoLimit); err == nil {
		t.Error("PlanWithin of more than MaxTotal: no error")
	}
}

func check(t *testing.T, items []Item) {
	t.Helper()
	offsets, total, err := Plan(items)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, items, offsets, total)
}

func checkPlan(t *testing.T, items []Item, offsets []int64, total int64) {
	t.Helper()
	if total < LowerBound(items) {
		t.Fatalf("total %d below the bound %d", total, LowerBound(items))
	}
	for i := range items {
		if offsets[i]%items[i].Align != 0 || offsets[i]+items[i].Size > total {
			t.Fatalf("item %d at %d: not aligned or beyond %d", i, offsets[i], total)
		}
		for j := range i {
			apart := offsets[i]+items[i].Size <= offsets[j] || offsets[j]+items[j].Size <= offsets[i]
			if items[i].overlaps(&items[j]) && !apart {
				t.Fatalf("items %d and %d overlap", i, j)
			}
		}
	}
}

func TestPlanReuses(t *testing.T) {
	_, total, err := Plan([]Item{{64, 0, 1, 16, false}, {64, 1, 2, 16, false}, {64, 2, 3, 16, false}})
	if err != nil || total != 128 {
		t.Errorf("Plan = %d, %v; want 128", total, err)
	}
	if _, _, err := Plan([]Item{{Size: 1 << 50}}); err == nil {
		t.Error("Plan of 2^50 bytes: no error")
	}
}

// TestPlanRepairs has items that upstream's greedy and every order of best fit put into 14 bytes.
func TestPlanRepairs(t *testing.T) {
	items := []Item{{6, 0, 3, 1, false}, {5, 1, 4, 1, false}, {3, 4, 7, 1, false}, {4, 4, 4, 1, false}}
	check(t, items)
	if _, total, err := Plan(items); err != nil || total != 12 || LowerBound(items) != 12 {
		t.Errorf("Plan = %d, %v; want the bound, %d", total, err, LowerBound(items))
	}
}

// TestPlanApart: items that are apart share no bytes, though they are in use one after another.
func TestPlanApart(t *testing.T) {
	for _, c := range []struct {
		apart bool
		total int64
	}{{false, 128}, {true, 192}} {
		items := []Item{{64, 0, 1, 16, c.apart}, {64, 1, 2, 16, false}, {64, 2, 3, 16, c.apart}, {64, 3, 4, 16, false}, {64, 4, 5, 16, c.apart}}
		offsets, total, err := Plan(items)
		if err != nil {
			t.Fatal(err)
		}
		if same := offsets[0] == offsets[2] || offsets[0] == offsets[4] || offsets[2] == offsets[4]; same == c.apart || c.apart && total < c.total {
			t.Errorf("apart %v: offsets %v, %d bytes", c.apart, offsets, total)
		}
	}
}
