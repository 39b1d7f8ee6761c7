package executor

import (
	"cmp"
	"slices"
)

// pieces are bytes of memories in order, apart from each other, each with the value of those put there that is in use until the
// latest step; of equals, the last one put.
type pieces []piece

type piece struct {
	area
	v int32
}

// add puts y behind the last one; both are one piece if they touch and are of one value.
func (l pieces) add(y piece) pieces {
	if n := len(l); n > 0 && l[n-1].v == y.v && l[n-1].to == y.from {
		l[n-1].to = y.to
		return l
	}
	return append(l, y)
}

// put joins the value of x with those that are in use in its bytes. Values come in the order of their first steps: of two that
// share a byte and are in use then, the longer one meets all that the other would.
func (l *pieces) put(p *spans, x piece) {
	i, _ := slices.BinarySearchFunc(*l, x, func(y, x piece) int {
		return cmp.Or(cmp.Compare(y.memory, x.memory), cmp.Compare(y.to, x.from+1))
	})
	var room [4]piece
	made, at, j := pieces(room[:0]), x.from, i
	var rest piece
	for ; j < len(*l) && (*l)[j].overlaps(&x.area); j++ {
		y := (*l)[j]
		if p.of[y.v].last >= p.of[x.v].first {
			p.join(x.v, y.v)
		}
		if y.from < x.from {
			made = made.add(piece{area{y.memory, y.from, x.from}, y.v})
			y.from = x.from
		}
		if y.to > x.to {
			rest = piece{area{y.memory, x.to, y.to}, y.v}
			y.to = x.to
		}
		if p.of[y.v].last <= p.of[x.v].last {
			continue
		}
		if at < y.from {
			made = made.add(piece{area{x.memory, at, y.from}, x.v})
		}
		made, at = made.add(y), y.to
	}
	if at < x.to {
		made = made.add(piece{area{x.memory, at, x.to}, x.v})
	}
	if rest.from < rest.to {
		made = made.add(rest)
	}
	*l = slices.Replace(*l, i, j, made...)
}
