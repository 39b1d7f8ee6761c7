package memory

import (
	"errors"
	"math/rand"
	"slices"
	"testing"
)

// TestPlanBanksNeverOverlaps checks random plans: every item within its bank, aligned, apart from what lives with it.
func TestPlanBanksNeverOverlaps(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 200 {
		items := make([]Item, r.Intn(40))
		for i := range items {
			first := r.Intn(20)
			items[i] = Item{Size: int64(r.Intn(100)), First: first, Last: first + r.Intn(6), Align: 1 << r.Intn(5)}
		}
		limits := []int64{int64(r.Intn(300)), int64(r.Intn(300)), NoLimit}
		places, sizes, err := PlanBanks(items, limits)
		if err != nil {
			t.Fatal(err)
		}
		checkBanks(t, items, places, sizes, limits)
	}
}

func checkBanks(t *testing.T, items []Item, places []Place, sizes, limits []int64) {
	t.Helper()
	for bank, limit := range limits {
		if limit != NoLimit && sizes[bank] > limit {
			t.Fatalf("bank %d: %d bytes, limit %d", bank, sizes[bank], limit)
		}
	}
	for i, p := range places {
		if p.Offset%items[i].Align != 0 || p.Offset+items[i].Size > sizes[p.Bank] {
			t.Fatalf("item %d at %+v: not aligned or beyond %d", i, p, sizes[p.Bank])
		}
		for j, q := range places[:i] {
			apart := p.Bank != q.Bank || p.Offset+items[i].Size <= q.Offset || q.Offset+items[j].Size <= p.Offset
			if items[i].overlaps(&items[j]) && !apart {
				t.Fatalf("items %d and %d overlap", i, j)
			}
		}
	}
}

func TestPlanBanks(t *testing.T) {
	items := []Item{{64, 0, 1, 16, false}, {200, 1, 2, 16, false}, {64, 2, 3, 16, false}, {32, 0, 3, 16, false}}
	for _, c := range []struct {
		name   string
		limits []int64
		sizes  []int64
	}{
		{"one without limit", []int64{NoLimit}, []int64{304}},
		{"all fits the first", []int64{304, NoLimit}, []int64{304, 0}},
		{"the large one is left", []int64{96, NoLimit}, []int64{96, 208}},
		{"nothing fits", []int64{8, NoLimit}, []int64{0, 304}},
		{"an empty bank", []int64{0, NoLimit}, []int64{0, 304}},
		{"three", []int64{32, 64, 208}, []int64{32, 64, 208}},
	} {
		_, sizes, err := PlanBanks(items, c.limits)
		if err != nil || !slices.Equal(sizes, c.sizes) {
			t.Errorf("%s: got %v, %v, want %v", c.name, sizes, err, c.sizes)
		}
	}
}

func TestPlanBanksOverflow(t *testing.T) {
	items := []Item{{64, 0, 1, 16, false}, {200, 1, 2, 16, false}, {64, 2, 3, 16, false}}
	_, _, err := PlanBanks(items, []int64{64, 100})
	var overflow *OverflowError
	if !errors.As(err, &overflow) || *overflow != (OverflowError{1, 208, 200, 100}) {
		t.Fatalf("got %v", err)
	}
	if want := "plan memory: bank 1 needs 208 bytes, has 100"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if _, _, err := PlanBanks([]Item{{Size: 1 << 50}}, []int64{1, NoLimit}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("2^50 bytes: got %v", err)
	}
}
