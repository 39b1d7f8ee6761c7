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
	}
}

func check(t *testing.T, items []Item) {
	t.Helper()
	offsets, total, err := Plan(items)
	if err != nil {
		t.Fatal(err)
	}
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
	_, total, err := Plan([]Item{{64, 0, 1, 16}, {64, 1, 2, 16}, {64, 2, 3, 16}})
	if err != nil || total != 128 {
		t.Errorf("Plan = %d, %v; want 128", total, err)
	}
	if _, _, err := Plan([]Item{{Size: 1 << 50}}); err == nil {
		t.Error("Plan of 2^50 bytes: no error")
	}
}

// TestPlanRepairs has items that upstream's greedy and every order of best fit put into 14 bytes.
func TestPlanRepairs(t *testing.T) {
	items := []Item{{6, 0, 3, 1}, {5, 1, 4, 1}, {3, 4, 7, 1}, {4, 4, 4, 1}}
	check(t, items)
	if _, total, err := Plan(items); err != nil || total != 12 || LowerBound(items) != 12 {
		t.Errorf("Plan = %d, %v; want the bound, %d", total, err, LowerBound(items))
	}
}
