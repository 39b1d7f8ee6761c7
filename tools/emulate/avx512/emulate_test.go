package avx512

import (
	"math"
	"strings"
	"testing"
	"unsafe"
)

// memory is the argument of test programs: 16 words each of two vectors and a result.
type memory struct{ x, y, z vec }

// TestInstructions runs instructions on the words x[i] and y[i], and wants z[i].
func TestInstructions(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	f := func(list ...float32) (v vec) {
		for i, x := range list {
			v[i] = bits(x)
		}
		return v
	}
	all := func(x float32) (v vec) {
		v.fill(bits(x))
		return v
	}
	for _, c := range []struct {
		code    string
		x, y, z vec
	}{
		{"VSUBPS Z1, Z0, Z2", f(3, 1), f(1, 3), f(2, -2)},
		{"VDIVPS Z1, Z0, Z2", all(3), all(2), all(1.5)},
		{"VMAXPS Z1, Z0, Z2", f(nan, 2, 1), f(1, 1, 3), f(1, 2, 3)},
		{"VMINPS Z1, Z0, Z2", f(nan, 2, 1), f(1, 1, 3), f(1, 1, 1)},
		{"VFMADD231PS Z1, Z0, Z2", f(3), f(2), f(6)},
		{"VMOVAPS Z1, Z2\n\tVFMADD231PS Z0, Z1, Z2", f((1-0x1p-23)*0x1p-24, 0x1p-60, -0x1p-60, inf, nan), f(1+0x1p-23, 1, 1, 1, 1), f(1+0x1p-23, 1, 1, inf, nan)},
		{"VMOVAPS Z0, Z2\n\tVFNMADD231PS Z1, Z0, Z2", f(3), f(2), f(-3)},
		{"VMOVAPS Z0, Z2\n\tVFMADD213PS Z1, Z1, Z2", f(3), f(2), f(8)},
		{"VSCALEFPS Z1, Z0, Z2", f(3, nan, nan, 1), f(2.9, -inf, inf, -1), f(12, 0, inf, 0.5)},
		{"VRANGEPS $2, Z1, Z0, Z2", f(-3, 2, inf), f(2, 5, 88), f(-2, 2, 88)},
		{"VRNDSCALEPS $8, Z0, Z2", f(2.5, -1.5), vec{}, f(2, -2)},
		{"VRNDSCALEPS $9, Z0, Z2", f(2.5, -1.5), vec{}, f(2, -2)},
		{"VRNDSCALEPS $11, Z0, Z2", f(2.5, -1.5), vec{}, f(2, -1)},
		{"VCVTPS2DQ Z0, Z2", f(2.5, -1.5, 3e9), vec{}, vec{2, math.MaxUint32 - 1, 1 << 31}},
		{"VRCP14PS Z0, Z2", all(-4), vec{}, all(-0.25)},
		{"VRCP14PS Z0, Z2", all(3), vec{}, all(0x1.5554p-2)},
		{"VANDNPS Z1, Z0, Z2", vec{0b0101}, vec{0b0011}, vec{0b0010}},
		{"VMOVAPS Z0, Z2\n\tVPTERNLOGD $0xb8, Z1, Z1, Z2", vec{0b0101}, vec{0b0011}, vec{0b0111}},
		{"VPSRAD $1, Z0, Z2", vec{1 << 31, 4}, vec{}, vec{3 << 30, 2}},
		{"VPSUBB Z1, Z0, Z2", vec{0x0100_0003}, vec{0x0200_0001}, vec{0xff00_0002}},
		{"VPMINUB Z1, Z0, Z2", vec{0x01ff_0003}, vec{0x02fe_0101}, vec{0x01fe_0001}},
		{"VPMADDWD Z1, Z0, Z2", vec{0xffff_0002}, vec{0x0003_0005}, vec{7}},
		{"VPMADDUBSW Z1, Z0, Z2", vec{0x0102_ffff}, vec{0xff03_7f7f}, vec{0x0005_7fff}},
		{"VPDPBUSD Z1, Z0, Z2", vec{0x0000_02ff}, vec{0x0000_ff01}, vec{0xfd}},
		{"VPDPWSSD Z1, Z0, Z2", vec{0xffff_0002}, vec{0x0003_0005}, vec{7}},
		{"VCMPPS $17, Z1, Z0, K1\n\tVPMOVM2D K1, Z2", f(1, 3, nan), f(2, 2, 2), vec{math.MaxUint32}},
		{"VUNPCKLPS Z1, Z0, Z2", vec{1, 2, 3, 4, 5}, vec{11, 12, 13, 14, 15}, vec{1, 11, 2, 12, 5, 15}},
		{"VUNPCKHPD Z1, Z0, Z2", vec{1, 2, 3, 4}, vec{11, 12, 13, 14}, vec{3, 4, 13, 14}},
		{"VSHUFF64X2 $0x4e, Z1, Z0, Z2", vec{8: 1, 12: 2}, vec{0: 3, 4: 4}, vec{0: 1, 4: 2, 8: 3, 12: 4}},
		{"VPERMILPS $0x4e, Z0, Z2", vec{1, 2, 3, 4}, vec{}, vec{3, 4, 1, 2}},
		{"VPSHUFB Z1, Z0, Z2", vec{0x0403_0201, 0x0807_0605, 0, 0x100f_0e0d, 0x1413_1211}, vec{0x8f05_000c, 0x0302_0100, 4: 0x8080_8001}, vec{0x0006_010d, 0x0403_0201, 0x0101_0101, 0x0101_0101, 0x12, 0x1111_1111, 0x1111_1111, 0x1111_1111}},
		{"VINSERTF32X4 $1, 64(DI), Z0, Z2", vec{1, 2}, vec{3, 4}, vec{0: 1, 1: 2, 4: 3, 5: 4}},
		{"VCVTPH2PS 64(DI), Z2", vec{}, vec{0x4000_3c00}, f(1, 2)},
		{"VCVTPS2PH $0, Z0, 128(DI)\n\tVMOVUPS 128(DI), Z2", vec{0x3f80_0000, 0xffc0_2000, 0x7f80_0001, 0xff80_0000}, vec{}, vec{0xfe01_3c00, 0xfc00_7e00}},
		{"VPMOVQD Z0, 128(DI)\n\tVMOVUPS 128(DI), Z2", vec{1, 2, 3, 4}, vec{}, vec{1, 3}},
		{"VCVTTPS2QQ Y0, Z2", f(2.75, -1), vec{}, vec{2, 0, math.MaxUint32, math.MaxUint32, 5: 0, 15: 0}},
		{"VCVTQQ2PS Z0, Y2", vec{3, 0, math.MaxUint32, math.MaxUint32}, vec{}, f(3, -1)},
		{"VMOVUPS Y0, 128(DI)\n\tVMOVUPS 128(DI), Z2", vec{7: 7, 8: 8}, vec{}, vec{7: 7}},
		{"VMOVSS X0, 132(DI)\n\tVMOVUPS 128(DI), Z2", vec{7, 8}, vec{}, vec{1: 7}},
		{"VPMAXSB Z1, Z0, Z2", vec{0x0180_ff7f}, vec{0x0081_0101}, vec{0x0181_017f}},
		{"KMOVW 0(DI), K1\n\tKNOTW K1, K1\n\tVMOVUPS.Z 64(DI), K1, Z2", vec{0xfff5}, vec{1, 2, 3, 4}, vec{1: 2, 3: 4}},
		{"KMOVW 0(DI), K1\n\tVMOVUPS Z1, K1, 0(DI)\n\tVMOVUPS 0(DI), Z2", vec{0x6, 5, 5, 5}, vec{1, 2, 3, 4}, vec{0x6, 2, 3, 5}},
		{"VPMOVSXBW 64(DI), Z2", vec{}, vec{0x0000_02ff}, vec{0x0002_ffff}},
		{"VPMOVZXBD 64(DI), Z2", vec{}, vec{0x0000_02ff}, vec{255, 2}},
		{"VCVTPS2PD 0(DI), Z2", f(1), vec{}, vec{1: 0x3ff0_0000}},
		{"VADDPS.BCST 64(DI), Z0, Z2", f(1, 2), f(3, 4), f(4, 5, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3)},
		{"MOVQ DI, SI\n\tADDQ $32, SI\n\tVBROADCASTSS 32(DI)(SI*0), Z2\n\tVMOVUPS (SI)(SI*0), X2", vec{8: 7}, vec{}, vec{7}},
	} {
		m := memory{x: c.x, y: c.y}
		p := Parse("TEXT ·f(SB), NOSPLIT, $0-8\n\tMOVQ a+0(FP), DI\n\tVMOVUPS 0(DI), Z0\n\tVMOVUPS 64(DI), Z1\n\t" + c.code +
			"\n\tVMOVUPS Z2, 128(DI)\n\tVZEROUPPER\n\tRET\n")
		p.Run("f", unsafe.Pointer(&m))
		if m.z != c.z {
			t.Errorf("%s = %x, want %x", c.code, m.z, c.z)
		}
	}
}

// TestLoop adds the numbers 3, 2 and 1.
func TestLoop(t *testing.T) {
	x := [2]uint64{3, 0}
	Parse("TEXT ·f(SB), NOSPLIT, $0-8\n\tMOVQ a+0(FP), DI\n\tMOVQ 0(DI), R8\n\tXORL R9, R9\nmore:\n\tTESTQ R8, R8\n\tJZ end\n\tADDQ R8, R9\n"+
		"\tSUBQ $1, R8\n\tJMP more\nend:\n\tMOVQ R9, 8(DI)\n\tRET\n").Run("f", unsafe.Pointer(&x))
	if x[1] != 6 {
		t.Errorf("the sum is %d, want 6", x[1])
	}
}

// TestFlags wants jumps to look at the result of the instruction before them.
func TestFlags(t *testing.T) {
	for _, code := range []string{"SUBQ $7, R8", "XORL R8, R8", "TESTQ R9, R9"} {
		x := uint64(7)
		Parse("TEXT ·f(SB), NOSPLIT, $0-8\n\tMOVQ a+0(FP), DI\n\tMOVQ 0(DI), R8\n\tXORL R9, R9\n\tADDQ $1, R8\n\tSUBQ $1, R8\n\t"+code+
			"\n\tJNZ end\n\tMOVQ R9, 0(DI)\nend:\n\tRET\n").Run("f", unsafe.Pointer(&x))
		if x != 0 {
			t.Errorf("%s: the result is not 0", code)
		}
	}
}

func TestUnknown(t *testing.T) {
	for code, want := range map[string]string{
		"VPABSD Z0, Z1":              "instruction VPABSD",
		"VPADDD Z1, Z0, K1, Z2":      "instruction VPADDD Z1, Z0, K1, Z2 is unknown, or not on such operands",
		"VFMADD231PS Z1, Z0, K2, Z2": "instruction VFMADD231PS Z1, Z0, K2, Z2 is unknown, or not on such operands",
		"VMOVUPS Z0, Z2":             "instruction VMOVUPS Z0, Z2 is unknown, or not on such operands",
		"MOVQ $5, R8":                "instruction MOVQ $5, R8 is unknown, or not on such operands",
		"VRNDSCALEPS $24, Z0, Z2":    "instruction VRNDSCALEPS $24, Z0, Z2 is unknown, or not on such operands",
		"VADDPS X1, X0, X2":          "instruction VADDPS X1, X0, X2 is unknown, or not on such operands",
		"VRNDSCALEPS Z0, Z2":         "instruction VRNDSCALEPS Z0, Z2 is unknown, or not on such operands",
		"VADDPS.BCST Z1, Z0, Z2":     "instruction VADDPS.BCST Z1, Z0, Z2 is unknown, or not on such operands",
		"VCVTPS2PH $1, Z0, 0(DI)":    "instruction VCVTPS2PH $1, Z0, 0(DI) is unknown, or not on such operands",
		"ADDQ 0(DI), R8":             "instruction ADDQ 0(DI), R8 is unknown, or not on such operands",
		"MOVQ 8(Z1), R9":             "operand 8(Z1)",
		"VCMPPS $3, Z0, Z1, K1":      "instruction VCMPPS",
		"JCC more\nmore:":            "instruction JCC",
		"MOVQ R8, (R9)(R10)":         "operand (R9)(R10)",
		"MOVQ Q8, R9":                "operand Q8",
	} {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.Contains(r, want) {
					t.Errorf("%s: %v, want %s", code, r, want)
				}
			}()
			Parse("TEXT ·f(SB), NOSPLIT, $0-8\n\t"+code+"\n\tRET\n").Run("f", nil)
		}()
	}
}
