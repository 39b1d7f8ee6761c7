package op

// part is a job that can be divided: parts does its pieces lo to hi.
type part[J any] interface {
	*J
	parts(lo, hi int)
}

// kept is a job between calls, with the function that runs it.
type kept[J any] struct {
	job J
	run func(lo, hi int)
}

// share does the n pieces of job on several threads, at least grain at a time. The job lies in c, where the next call of
// the same kernel finds its place again, so that steady state allocates nothing.
func share[J any, P part[J]](c *Call, job *J, n, grain int) {
	k := keep[J, P](c)
	k.job = *job
	c.Parallel(n, grain, k.run)
}

// keep is the place of a job in c, which is laid out there for calls that are the same: an earlier call's if that had such a job.
func keep[J any, P part[J]](c *Call) *kept[J] {
	c.left = true
	k, ok := c.kept.(*kept[J])
	if !ok {
		k = newKept[J, P]()
		c.kept = k
	}
	return k
}

func newKept[J any, P part[J]]() *kept[J] {
	k := new(kept[J])
	k.run = func(lo, hi int) { P(&k.job).parts(lo, hi) }
	return k
}
