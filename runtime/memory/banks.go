package memory

import "strconv"

// Place is where an item lies: an offset in one of several arenas.
type Place struct {
	// Bank is an index into the limits that PlanBanks was called with.
	Bank   int
	Offset int64
}

// NoLimit is the limit of a bank that is as large as it has to be.
const NoLimit = -1

// OverflowError says that the items that are left for the last bank do not fit it.
type OverflowError struct {
	// Bank is the last one's index.
	Bank int
	// Need is what the plan takes there, Bound what every plan takes at least, Limit what there is, in bytes.
	Need, Bound, Limit int64
}

// Error names the sizes.
func (e *OverflowError) Error() string {
	return "plan memory: bank " + strconv.Itoa(e.Bank) + " needs " + strconv.FormatInt(e.Need, 10) + " bytes, has " +
		strconv.FormatInt(e.Limit, 10)
}

// PlanBanks gives each item a place in one of the banks, whose capacities in bytes limits has, such that items in use
// at the same step do not overlap. A bank is filled before the next one is used; of several ways to fill it, the one
// that leaves the smallest plan for the others is kept. sizes are what the plan takes of each bank. It fails with
// ErrTooLarge or an *OverflowError; with one bank without limit it plans as Plan does.
func PlanBanks(items []Item, limits []int64) (places []Place, sizes []int64, err error) {
	places, sizes = make([]Place, len(items)), make([]int64, len(limits))
	left := make([]int, len(items)) // indices of items without a place
	for i := range left {
		left[i] = i
	}
	for bank, limit := range limits {
		rest := pick(items, left)
		offsets, total, err := Plan(rest)
		if err != nil {
			return nil, nil, err
		}
		if limit != NoLimit && total > limit {
			if bank == len(limits)-1 {
				return nil, nil, &OverflowError{bank, total, LowerBound(rest), limit}
			}
			if offsets, total, err = fill(rest, limit); err != nil {
				return nil, nil, err
			}
		}
		sizes[bank] = total
		next := left[:0]
		for i, item := range left {
			if offsets[i] == without {
				next = append(next, item)
				continue
			}
			places[item] = Place{bank, offsets[i]}
		}
		left = next
	}
	return places, sizes, nil
}

func pick(items []Item, indices []int) []Item {
	out := make([]Item, len(indices))
	for i, at := range indices {
		out[i] = items[at]
	}
	return out
}

// without is the offset of an item that has no place.
const without = -1

// fill places what fits into limit bytes, so that the plan of the rest is smallest.
func fill(items []Item, limit int64) (offsets []int64, total int64, err error) {
	smallest := int64(-1)
	for _, less := range orders {
		o, t := bestFitWithin(items, ordered(items, less), limit)
		_, rest, err := Plan(unplaced(items, o))
		if err != nil {
			return nil, 0, err
		}
		if smallest < 0 || rest < smallest {
			smallest, offsets, total = rest, o, t
		}
	}
	return offsets, total, nil
}

func unplaced(items []Item, offsets []int64) []Item {
	var out []Item
	for i, at := range offsets {
		if at == without {
			out = append(out, items[i])
		}
	}
	return out
}
