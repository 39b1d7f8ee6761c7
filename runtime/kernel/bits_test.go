package kernel

import (
	"fmt"
	"go/ast"
	"go/token"
	"math"
	"math/rand"
	"testing"
)

// bitCases are the functions of the bits of two lines.
var bitCases = []struct {
	name string
	run  func(t Tier, o, x, y []float32) bool
	want func(x, y uint32) uint32
}{
	{"and", AndF32, func(x, y uint32) uint32 { return x & y }},
	{"or", OrF32, func(x, y uint32) uint32 { return x | y }},
	{"xor", XorF32, func(x, y uint32) uint32 { return x ^ y }},
	{"add bytes", AddBytesF32, eachByte(func(x, y byte) byte { return x + y })},
	{"sub bytes", SubBytesF32, eachByte(func(x, y byte) byte { return x - y })},
	{"equal bytes", EqBytesF32, eachByte(func(x, y byte) byte { return oneIf(x == y) })},
	{"other bytes", NeBytesF32, eachByte(func(x, y byte) byte { return oneIf(x != y) })},
	{"no byte", func(t Tier, o, x, _ []float32) bool { return LogicalNotBytesF32(t, o, x) }, eachByte(func(x, _ byte) byte { return oneIf(x == 0) })},
	{"both bytes", LogicalAndBytesF32, eachByte(func(x, y byte) byte { return oneIf(x != 0 && y != 0) })},
	{"either byte", LogicalOrBytesF32, eachByte(func(x, y byte) byte { return oneIf(x != 0 || y != 0) })},
	{"one byte of two", LogicalXorBytesF32, eachByte(func(x, y byte) byte { return oneIf((x != 0) != (y != 0)) })},
}

func eachByte(f func(x, y byte) byte) func(x, y uint32) uint32 {
	return func(x, y uint32) (z uint32) {
		for at := 0; at < 32; at += 8 {
			z |= uint32(f(byte(x>>at), byte(y>>at))) << at
		}
		return z
	}
}

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// TestBits runs them on all bits that there are, NaN of both kinds among them, beside guards and in place.
func TestBits(t *testing.T) {
	for _, tier := range tiers() {
		for _, c := range bitCases {
			for _, n := range []int{16, 17, 31, 64, 65, 1000, mapMost + 77} {
				t.Run(fmt.Sprintf("%v/%s/%d", tier, c.name, n), func(t *testing.T) {
					r := rand.New(rand.NewSource(int64(n)))
					x, y, want := guarded(r, n), guarded(r, n), make([]uint32, n)
					for i := range want {
						a, b := r.Uint32(), r.Uint32()
						if i%2 == 0 { // bytes many of which are 0 or alike
							a, b = a&0x03030303, b&0x03030303
						}
						x[i], y[i], want[i] = math.Float32frombits(a), math.Float32frombits(b), c.want(a, b)
					}
					for _, o := range [][]float32{guarded(r, n), x} {
						if !c.run(tier, o, x, y) {
							t.Fatal("no kernel")
						}
						if !intact(o) {
							t.Fatal("a value beside the output is changed")
						}
						for i, w := range want {
							if got := math.Float32bits(o[i]); got != w {
								t.Fatalf("element %d: %#x, want %#x", i, got, w)
							}
						}
					}
				})
			}
		}
	}
}

// TestEveryMapIsTested holds that mapCases or bitCases have each function of lines that the generator writes.
func TestEveryMapIsTested(t *testing.T) {
	tested := map[string]bool{} // the names in the lists
	for _, file := range []string{"maps_test.go", "bits_test.go"} {
		for _, d := range source(t, file).Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.VAR {
				ast.Inspect(d, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						tested[id.Name] = true
					}
					return true
				})
			}
		}
	}
	written := 0
	for _, f := range functionsOf([]*ast.File{source(t, "zmaps_other.go")}) {
		if !f.Name.IsExported() {
			continue
		}
		written++
		if !tested[f.Name.Name] {
			t.Errorf("%s has no row in mapCases, nor in bitCases", f.Name.Name)
		}
	}
	if written < len(bitCases) {
		t.Errorf("zmaps_other.go has %d functions", written)
	}
}
