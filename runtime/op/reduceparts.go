package op

import (
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// reduction is a reducer whose work is cut into pieces, which are divided among workers: outs or, where these lie side by side as
// their elements do, some at a time. Neither changes a result.
type reduction[T any] struct {
	reducer[T]
	tier    kernel.Tier
	shared  bool // among threads
	lines   int  // how many outs lie side by side; 0 if they are reduced one by one
	block   int  // how many of them are reduced together
	pieces  int
	workers int
	room    []T // of every worker, if there are several, for the elements of an out that are gathered
}

// lineLeast is how many outs beside each other make it worth reducing them at once, and lineGain how many times faster that is. Lines
// are cut into blocks of lineMost, for threads into smaller ones, but of no fewer than lineShare.
const (
	lineLeast = 8
	lineGain  = 4
	lineMost  = 1024
	lineShare = 64
)

// setup lets j reduce the dimensions of mask of argument 0 to outs like Out[0]; beside says that outs can be reduced side by side.
func (j *reduction[T]) setup(c *Call, mask uint32, beside bool) error {
	j.reducer.setup(c.Args[0].Tensor, mask, &c.Out[0].Meta)
	j.tier, j.lines, j.block, j.pieces, j.workers, j.room = c.Tier, 0, 0, j.outs, 1, nil
	j.shared = sharers(c, j.outs*j.width) > 1
	if w := j.lineWidth(); beside && j.gathers && w >= lineLeast {
		j.shared = j.shared && parallel(c, j.outs*j.width/lineGain)
		j.lines, j.block = w, min(w, lineMost)
		if j.shared {
			j.block = min(j.block, max(lineShare, j.outs/(2*c.Threads)))
		}
		j.pieces = j.outs / w * j.blocks()
	}
	if j.shared {
		j.workers = max(1, min(4*c.Threads, j.pieces))
	}
	if j.gathers && j.lines == 0 {
		return j.makeRoom(c)
	}
	return nil
}

// makeRoom makes room for a row of every thread, or of one if there is no more.
func (j *reduction[T]) makeRoom(c *Call) (err error) {
	if j.workers = min(j.workers, c.Threads); j.workers > 1 {
		if j.room, err = tempOf[T](c, j.workers*j.width); err == nil {
			return nil
		}
	}
	j.workers = 1
	j.buf, err = tempOf[T](c, j.width)
	return err
}

// divide lets the workers do their shares, of which run does those from one to another, and forgets the data.
func (j *reduction[T]) divide(c *Call, run func(lo, hi int)) {
	if j.workers == 1 {
		run(0, 1)
	} else {
		c.Parallel(j.workers, 1, run)
	}
	j.x, j.buf, j.room = nil, nil, nil // none is kept
}

// blocks is into how many pieces outs are cut that lie side by side.
func (j *reduction[T]) blocks() int { return (j.lines + j.block - 1) / j.block }

// share is the first piece of a worker, and the one behind its last.
func (j *reduction[T]) share(worker int) (lo, hi int) {
	return j.pieces * worker / j.workers, j.pieces * (worker + 1) / j.workers
}

// of is the reducer for one of several workers, with room of its own: a copy, for which one that is alone does not wait.
func (j *reduction[T]) of(worker int) reducer[T] {
	r := j.reducer
	if j.room != nil {
		r.buf = j.room[worker*r.width:][:r.width]
	}
	return r
}

// seekBlock lets r go to the outs that lie beside those of a piece, and gives the first one of the piece and how many it has.
func (j *reduction[T]) seekBlock(r *reducer[T], piece int) (lo, n int) {
	blocks := j.blocks()
	r.seek(piece / blocks * j.lines)
	lo = piece % blocks * j.block
	return lo, min(j.block, j.lines-lo)
}

// lineWidth is how many outs lie side by side as the elements that go into them do; 1 if they do not.
func (r *reducer[T]) lineWidth() int {
	w := 1
	for d := r.kept.n - 1; d >= 0; d-- {
		if r.kept.size[d] == 1 {
			continue
		}
		if r.kept.step[d] != w || r.kept.out[d] != w {
			break
		}
		w *= r.kept.size[d]
	}
	return w
}

// lineWalk goes over the places of the elements of one out.
type lineWalk struct {
	gone  *axes
	at    int
	index [tensor.MaxRank]int
}

func (r *reducer[T]) lines() lineWalk { return lineWalk{gone: &r.gone, at: r.base} }

// linesFrom is lines from element n on.
func (r *reducer[T]) linesFrom(n int) lineWalk {
	l := r.lines()
	for d := r.gone.n - 1; d >= 0; d-- {
		l.index[d] = n % r.gone.size[d]
		n /= r.gone.size[d]
		l.at += l.index[d] * r.gone.step[d]
	}
	return l
}

// next is the place of the next element.
func (l *lineWalk) next() int {
	at := l.at
	for d := l.gone.n - 1; d >= 0; d-- {
		l.at += l.gone.step[d]
		if l.index[d]++; l.index[d] < l.gone.size[d] {
			break
		}
		l.at -= l.gone.step[d] * l.gone.size[d]
		l.index[d] = 0
	}
	return at
}

// run is how many elements of an out lie one after another, this far apart: the first ones, and as many after each gap.
func (r *reducer[T]) run(apart int) int {
	n, g := 1, &r.gone
	for d := g.n - 1; d >= 0; d-- {
		if g.size[d] > 1 && g.step[d] != n*apart {
			break
		}
		n *= g.size[d]
	}
	return n
}

// skip is next n times: it gives the place of the first of these elements.
func (l *lineWalk) skip(n int) int {
	d := l.gone.n - 1
	if d < 0 || l.index[d]+n >= l.gone.size[d] {
		at := l.next()
		for range n - 1 {
			l.next()
		}
		return at
	}
	at := l.at
	l.index[d] += n
	l.at += n * l.gone.step[d]
	return at
}
