package runcmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/executor/weightcache"
	"github.com/rules-pte/rules_pte/runtime/kernel"
)

// cacheUse is what one load does with the file of --weight-cache.
type cacheUse struct {
	opened     bool
	taken, had int      // packed weights, and those of them that the file had
	failed     []string // what went wrong with it
}

// file is weightcache.File, of which c learns.
func (c *cacheUse) file(path string) executor.WeightCache {
	open := weightcache.File(path, func(err error) { c.failed = append(c.failed, err.Error()) })
	return func(t kernel.Tier) executor.Weights {
		*c = cacheUse{opened: true} // a load may begin anew
		return counted{open(t), c}
	}
}

// counted are weights whose use is counted.
type counted struct {
	executor.Weights
	use *cacheUse
}

// Take is executor.Weights.Take.
func (w counted) Take(p executor.PackedWeight, alloc func(n int) []byte) (b []byte, packed bool) {
	b, packed = w.Weights.Take(p, alloc)
	w.use.taken++
	if packed {
		w.use.had++
	}
	return b, packed
}

// text is what became of the file, once there is an instance.
func (c *cacheUse) text() string {
	switch {
	case len(c.failed) > 0:
		return strings.Join(c.failed, "; ")
	case !c.opened:
		return "left alone, since the values of all instructions are kept"
	case c.taken == 0:
		return "the program has nothing to keep"
	case c.had == c.taken:
		return "used"
	}
	return "written"
}

// warn says what went wrong.
func (c *cacheUse) warn(w io.Writer) {
	for _, s := range c.failed {
		fmt.Fprintln(w, "warning: "+s)
	}
}
