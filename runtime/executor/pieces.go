package executor

import (
	"cmp"
	"slices"
)

// pieces are bytes of memories in order, apart from each other, each with the value of those put there that is in use longest.
type pieces []piece

type piece struct {
	area
	v int32
}

// put joins the value of x with those that are in use in its bytes. Values come in the order of their first steps: of two that
// share a byte and are in use then, the longer one meets all that the other would.
func (l *pieces) put(p *spans, x piece) {
	i, _ := slices.BinarySearchFunc(*l, x, func(y, x piece) int {
		return cmp.Or(cmp.Compare(y.memory, x.memory), cmp.Compare(y.to, x.from+1))
	})
	var room [4]piece
	made, at, j := room[:0], x.from, i
	var rest piece
	for ; j < len(*l) && (*l)[j].overlaps(&x.area); j++ {
		y := (*l)[j]
		if p.of[y.v].last >= p.of[x.v].first {
			p.join(x.v, y.v)
		}
		if y.from < x.from {
			made = append(made, piece{area{y.memory, y.from, x.from}, y.v})
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
			made = append(made, piece{area{x.memory, at, y.from}, x.v})
		}
		made, at = append(made, y), y.to
	}
	if at < x.to {
		made = append(made, piece{area{x.memory, at, x.to}, x.v})
	}
	if rest.from < rest.to {
		made = append(made, rest)
	}
	*l = slices.Replace(*l, i, j, made...)
}
