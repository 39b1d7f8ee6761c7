package backend

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCluster checks small graphs whose partitions are known: nodes are letters' places, S is supported.
func TestCluster(t *testing.T) {
	for _, c := range []struct {
		name      string
		preds     [][]int32
		supported string
		want      []int32
		layers    []int32 // those of layers, where they differ
	}{
		{"chain", [][]int32{{}, {0}, {1}}, "SSS", []int32{0, 0, 0}, nil},
		{"gap", [][]int32{{}, {0}, {1}}, "S.S", []int32{0, -1, 1}, nil},
		{"diamond around a gap", [][]int32{{}, {0}, {0}, {1, 2}}, "SS.S", []int32{0, 0, -1, 1}, nil},
		{"two islands", [][]int32{{}, {}}, "SS", []int32{0, 1}, []int32{0, 0}},
		{"late joiner", [][]int32{{}, {0}, {}, {1, 2}}, "S.SS", []int32{0, -1, 1, 1}, nil},
		{"late joiner held back", [][]int32{{}, {0}, {}, {1, 2}, {2}, {4, 3}}, "S.SS.S", []int32{0, -1, 1, 2, -1, 2}, []int32{0, -1, 0, 1, -1, 1}},
		{"nothing", [][]int32{{}, {0}}, "..", []int32{-1, -1}, nil},
	} {
		supported := make([]bool, len(c.preds))
		for i := range supported {
			supported[i] = c.supported[i] == 'S'
		}
		if c.layers == nil {
			c.layers = c.want
		}
		if got := layers(c.preds, supported, nil, nil); !slices.Equal(got, c.layers) {
			t.Errorf("%s: got layers %v, want %v", c.name, got, c.layers)
		}
		if got := cluster(c.preds, supported, nil); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// randomGraph has n nodes, each with up to 3 producers among the 20 before it.
func randomGraph(r *rand.Rand, n int) (preds [][]int32, supported []bool) {
	preds, supported = make([][]int32, n), make([]bool, n)
	for i := range preds {
		supported[i] = r.IntN(4) > 0
		for range r.IntN(4) {
			if i > 0 {
				preds[i] = append(preds[i], int32(max(0, i-1-r.IntN(20))))
			}
		}
	}
	return preds, supported
}

// TestClusterIsAcyclic checks on random graphs that the graph of partitions and unsupported nodes has no cycle, from
// which it follows that every partition is convex.
func TestClusterIsAcyclic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		preds, supported := randomGraph(r, 60)
		for _, part := range [][]int32{cluster(preds, supported, nil), layers(preds, supported, nil, nil), layers(preds, supported, valuesOf(r, preds, supported), nil)} {
			if unit := cycle(preds, part); unit >= 0 {
				t.Fatalf("unit %d lies on a cycle: producers %v, parts %v", unit, preds, part)
			}
		}
	}
}

// cycle is a unit (a part, or a node outside) on a cycle of the contracted graph, or -1.
func cycle(preds [][]int32, part []int32) int {
	n := len(preds)
	unit := func(i int32) int {
		if part[i] >= 0 {
			return int(part[i])
		}
		return n + int(i)
	}
	after, waits := map[int]map[int]bool{}, map[int]int{}
	for i := range preds {
		waits[unit(int32(i))] += 0
		for _, p := range preds[i] {
			from, to := unit(p), unit(int32(i))
			if from != to && !after[from][to] {
				if after[from] == nil {
					after[from] = map[int]bool{}
				}
				after[from][to] = true
				waits[to]++
			}
		}
	}
	for done := true; done; {
		done = false
		for u, k := range waits {
			if k == 0 {
				delete(waits, u)
				done = true
				for to := range after[u] {
					waits[to]--
				}
			}
		}
	}
	for u := range waits {
		return u
	}
	return -1
}

// TestPartitioningIsLinear counts the steps on graphs of 10,000 and 100,000 nodes: ten times the nodes take ten times the
// steps.
func TestPartitioningIsLinear(t *testing.T) {
	for _, c := range []struct {
		name      string
		perEdge   int // steps at most for a node or an edge
		partition func(r *rand.Rand, preds [][]int32, supported []bool, steps *int)
	}{
		{"cluster", 10, func(_ *rand.Rand, preds [][]int32, supported []bool, steps *int) { cluster(preds, supported, steps) }},
		{"layers", 20, func(r *rand.Rand, preds [][]int32, supported []bool, steps *int) {
			layers(preds, supported, valuesOf(r, preds, supported), steps)
		}},
	} {
		steps := func(n int) (count, size int) {
			r := rand.New(rand.NewPCG(3, 4))
			preds, supported := randomGraph(r, n)
			size = n
			for _, p := range preds {
				size += len(p)
			}
			c.partition(r, preds, supported, &count)
			return count, size
		}
		small, _ := steps(10_000)
		large, size := steps(100_000)
		if large > 11*small {
			t.Errorf("%s: %d steps for 100,000 nodes, %d for 10,000", c.name, large, small)
		}
		if large > c.perEdge*size {
			t.Errorf("%s: %d steps for a graph of %d nodes and edges", c.name, large, size)
		}
	}
}
