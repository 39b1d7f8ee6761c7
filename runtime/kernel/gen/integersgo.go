package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// integersTier is a tier of kernels of integers, with the sizes of its largest tile.
type integersTier struct {
	m      integers
	s      *source
	mr, nv int
	lines  bool // else it uses those of the tier before
	rowsS4 int  // of the largest tile with weights of 4 bits; 0: there are none
}

// converts reports that the left factor has other bytes than it is given.
func (t *integersTier) converts() bool { return t.m.group() != groupBytes || t.m.flips() }

// taps reports that the tier has an instruction of its own for taps.
func (t *integersTier) taps() bool { return t.lines || t.m.flips() }

// windows reports that the tier has windows of its own.
func (t *integersTier) windows() bool { return t.m.flips() }

// having are the tiers for which f is true.
func having(tiers []integersTier, f func(t *integersTier) bool) []integersTier {
	return slices.DeleteFunc(slices.Clone(tiers), func(t integersTier) bool { return !f(&t) })
}

func integersTiers() []integersTier {
	avx2, avx512, vnni := &x86{}, &x86{wide: true}, &x86{wide: true, vnni: true}
	arm, dot := &neon{}, &neon{dots: true}
	return []integersTier{
		{avx2, &avx2.source, 6, 2, true, 2}, {avx512, &avx512.source, 8, 2, true, 6}, {vnni, &vnni.source, 8, 2, false, 6},
		{arm, &arm.source, 6, 2, true, 4}, {dot, &dot.source, 8, 2, false, 6},
	}
}

// integersFiles writes the kernels of integers.
func integersFiles() {
	tiers := integersTiers()
	for _, t := range tiers {
		gemmS8(t.m, t.mr, t.nv)
		gemmS4(t.m.(nibbles), t.rowsS4, t.nv)
		if t.converts() {
			leftS8(t.m)
		}
		if t.taps() {
			writeTapsS8(t.m)
		}
		if t.windows() {
			windowS8(t.m.(quads))
		}
		if t.lines {
			linesS8(t.m)
		}
		name := "zintegers" + strings.ToLower(t.m.tier()) + "_" + t.m.arch()
		write(name+".s", append([]byte(header+"#include \"textflag.h\"\n"), t.s.Bytes()...))
		write(name+".go", integersDeclarations(t.s))
	}
	tiers = append(tiers, integersTier{m: &wasm{}, mr: 4, nv: 2, lines: true})
	for _, arch := range architectures {
		write("zintegers_"+cmp.Or(arch, "other")+".go", integersGo(arch, tiers))
	}
}

func integersDeclarations(s *source) []byte {
	var b bytes.Buffer
	b.WriteString(header + "package kernel\n")
	for _, f := range s.funcs {
		fmt.Fprintf(&b, "\n//go:noescape\nfunc %s(a *%s)\n", f.name, f.arg)
	}
	return formatted(b.Bytes())
}

// integersGo are the Go functions that choose among the tiers of an architecture, or those without kernels.
func integersGo(arch string, tiers []integersTier) []byte {
	b := goFile(arch)
	b.WriteString("\n// gemmsS8 are the tiles of integers of this architecture.\nvar gemmsS8 = []GemmS8{\n")
	mine := having(tiers, func(t *integersTier) bool { return t.m.arch() == arch })
	for _, t := range mine {
		fmt.Fprintf(b, "{Rows: %d, Cols: %d, Narrow: %d, Group: %d, Lanes: %d, Flips: %t, tier: %s},\n", t.mr, t.nv*t.m.lanes(), t.m.lanes(), t.m.group(), t.m.lanes(), t.m.flips(), t.m.tier())
	}
	b.WriteString("}\n")
	tileGo(b, mine, "Run", "gemmS8", "computes t, of 1 to Rows rows")
	tileGo(b, mine, "RunNarrow", "narrowS8", "is Run for the first Narrow columns of a panel")
	gemmS4Go(b, having(mine, func(t *integersTier) bool { return t.rowsS4 > 0 }))
	choose(b, "left", "lines", "leftS8", having(mine, (*integersTier).converts))
	choose(b, "taps", "TapsS8", "tapsS8", having(mine, (*integersTier).taps))
	windowsS8Go(b, having(mine, (*integersTier).windows))
	lines := having(mine, func(t *integersTier) bool { return t.lines })
	choose(b, "rangeS8", "lines", "rangeS8", lines)
	for _, p := range passes {
		choose(b, p.name, "lines", p.name, lines)
	}
	return formatted(b.Bytes())
}

// tileGo writes the method that computes a tile of a kind, and says what it does.
func tileGo(b *bytes.Buffer, tiers []integersTier, method, kind, does string) {
	fmt.Fprintf(b, "\n// %s %s. It has a frame of its own, like Gemm.Run.\n//\n//go:noinline\nfunc (g *GemmS8) %[1]s(t *TileS8, rows int) {\n", method, does)
	fmt.Fprintf(b, "if t.Depth*t.Segments > tileMostS8 {\ng.split(t, rows, %t)\nreturn\n}\nswitch g.tier {\n", kind != "gemmS8")
	for _, t := range tiers {
		fmt.Fprintf(b, "case %s:\nswitch rows {\n", t.m.tier())
		for n := 1; n <= t.mr; n++ {
			fmt.Fprintf(b, "case %d:\n%s(t)\n", n, rowsName(kind, t.m, n))
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n}\n")
}

// choose writes a function that calls a kernel of the tier, or of the one below that has it.
func choose(b *bytes.Buffer, name, arg, kernel string, tiers []integersTier) {
	fmt.Fprintf(b, "\n//go:noinline\nfunc %s(t Tier, a *%s) {\n", chosen(name), arg)
	if len(tiers) > 0 {
		b.WriteString("switch {\n")
		for _, t := range slices.Backward(tiers) {
			fmt.Fprintf(b, "case t >= %s:\n%s(a)\n", t.m.tier(), kernel+t.m.tier())
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
}

// chosen is the name of the function that calls a kernel by tier.
func chosen(name string) string { return "run" + strings.ToUpper(name[:1]) + name[1:] }
