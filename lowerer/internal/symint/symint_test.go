package symint

import (
	"math"
	"math/rand"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

func testTable() *Table {
	t := NewTable()
	t.Symbol("s0", 1, 100, 7)
	t.Symbol("s1", 2, math.MaxInt64, 5)
	t.Symbol("u0", math.MinInt64, math.MaxInt64, 0)
	return t
}

const (
	s0 = "Symbol('s0', positive=True, integer=True)"
	s1 = "Symbol('s1', integer=True, positive=True)"
	u0 = "Symbol('u0', integer=True)"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Integer(-3)", "-3"},
		{s0, "s0"},
		{"Add(" + s0 + ", Integer(-2))", "s0 - 2"},
		{"Add(" + s1 + ", Mul(Integer(2), " + s0 + "), Mul(Integer(-2), " + s0 + "))", "s1"},
		{"Mul(Add(" + s0 + ", Integer(1)), Add(" + s0 + ", Integer(-1)))", "s0*s0 - 1"},
		{"Pow(" + s0 + ", Integer(3))", "s0*s0*s0"},
		{"FloorDiv(Add(Mul(Integer(4), " + s0 + "), Integer(7)), Integer(4))", "s0 + 1"},
		{"FloorDiv(Add(" + s0 + ", Integer(-3)), Integer(2))", "(s0 + 1)//2 - 2"},
		{"FloorDiv(FloorDiv(" + s1 + ", Integer(2)), Integer(3))", "s1//6"},
		{"FloorDiv(Mul(" + s0 + ", Add(" + s1 + ", Integer(1)), Integer(3)), Add(" + s1 + ", Integer(1)))", "3*s0"},
		{"FloorDiv(" + s0 + ", Integer(101))", "0"},
		{"Mod(Add(Mul(Integer(8), " + s0 + "), " + s1 + "), Integer(4))", "s1 % 4"},
		{"PythonMod(" + s0 + ", Integer(128))", "s0"},
		{"ModularIndexing(" + s1 + ", Integer(2), Integer(3))", "(s1//2) % 3"},
		{"CeilDiv(" + s1 + ", Integer(2))", "-((-s1)//2)"},
		{"Max(Integer(1), " + s0 + ")", "s0"},
		{"Max(Integer(1), Add(" + s0 + ", Integer(-2)))", "max(1, s0 - 2)"},
		{"Min(" + s0 + ", Integer(100))", "s0"},
		{"TruncToInt(IntTrueDiv(" + s0 + ", Integer(2)))", "s0//2"},
		{"TruncToInt(IntTrueDiv(" + u0 + ", Integer(2)))", "trunc(truediv(u0, 2))"},
		{"TruncToInt(Mul(Float('1.5', precision=53), ToFloat(" + s0 + ")))", "(3*s0)//2"},
		{"TruncToInt(Mul(Float('1.3', precision=53), ToFloat(" + s0 + ")))", "trunc(mul(1.3, s0))"},
		{"CeilToInt(FloatPow(ToFloat(Add(" + s0 + ", Integer(1))), Float('0.5', precision=53)))", "ceil(pow(s0 + 1, 0.5))"},
		{"RoundToInt(Max(Float('2.5', precision=53), IntTrueDiv(" + s0 + ", " + s1 + ")))", "round(max(2.5, truediv(s0, s1)))"},
		{"FloorToInt(OpaqueUnaryFn_sqrt(" + s0 + "))", "floor(sqrt(s0))"},
		{"TruncToInt(Mul(Float('2.5', precision=53), Float('3.0', precision=53)))", "7"},
		{"RShift(LShift(" + s0 + ", Integer(3)), Integer(2))", "2*s0"},
		{"Identity(" + u0 + ")", "u0"},
	} {
		tab := testTable()
		d, err := tab.Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%s): %v", c.in, err)
		} else if got := tab.String(d); got != c.want {
			t.Errorf("Parse(%s) = %s, want %s", c.in, got, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, in := range []string{
		"", "Integer", "Integer(", "Integer(x)", "Integer(99999999999999999999)", "Integer(-9223372036854775807)",
		"Symbol('s0'", "Symbol(s0)", "Symbol('a b')", "Add(" + s0, s0 + ")", "LessThan(" + s0 + ", Integer(3))",
		"FloorDiv(" + s0 + ", Integer(0))", "Pow(" + s0 + ", " + s1 + ")", "TruncToInt(Float('x', precision=53))", "TruncToInt(Float('1.5'",
		"TruncToInt(Mul(" + s0 + ", Float('1.5'))", "TruncToInt(ToFloat(" + s0 + ", " + s0 + "))", "TruncToInt(FloatTrueDiv(" + s0 + "))",
		"Mul(Integer(4611686018427387904), " + s0 + ", Integer(4))", "Pow(Add(" + s0 + ", " + s1 + "), Integer(99))",
	} {
		if d, err := testTable().Parse(in); err == nil {
			t.Errorf("Parse(%q) = %d, want an error", in, d)
		}
	}
}

// TestRounding holds rounded real expressions to float64 arithmetic, within their bounds.
func TestRounding(t *testing.T) {
	tab := testTable()
	n, _ := tab.Lookup("s0")
	for _, c := range []struct {
		in     string
		lo, hi int64
		want   func(n float64) float64
	}{
		{"TruncToInt(Mul(Float('0.7', precision=53), ToFloat(" + s0 + ")))", 0, 70, func(n float64) float64 { return math.Trunc(n * 0.7) }},
		{"FloorToInt(FloatPow(ToFloat(" + s0 + "), Float('-0.5', precision=53)))", 0, 1, func(n float64) float64 { return math.Floor(math.Pow(n, -0.5)) }},
		{"RoundToInt(IntTrueDiv(Integer(100), " + s0 + "))", 1, 100, func(n float64) float64 { return math.RoundToEven(100 / n) }},
		{"CeilToInt(Min(Float('9.5', precision=53), OpaqueUnaryFn_sqrt(" + s0 + ")))", 1, 10, func(n float64) float64 { return math.Ceil(min(9.5, math.Sqrt(n))) }},
	} {
		d, err := tab.Parse(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if lo, hi := tab.Bounds(d); lo != c.lo || hi != c.hi {
			t.Errorf("bounds of %s: [%d, %d], want [%d, %d]", tab.String(d), lo, hi, c.lo, c.hi)
		}
		for v := int64(1); v <= 100; v++ {
			if got, want := tab.Eval(d, map[string]int64{"s0": v}), int64(c.want(float64(v))); got != want {
				t.Errorf("%s at %d is %d, want %d", tab.String(d), v, got, want)
			}
		}
	}
	scaled := tab.Scale(n, 1.3)
	if again, err := tab.Parse("TruncToInt(Mul(Float('1.3', precision=53), ToFloat(" + s0 + ")))"); err != nil || again != scaled {
		t.Errorf("Scale gives %s, torch's expression %s, %v", tab.String(scaled), tab.String(again), err)
	}
	if err := tab.SetRange("s0", 9, 9); err != nil {
		t.Fatal(err)
	}
	if got := tab.Simplify(scaled); got != 11 {
		t.Errorf("trunc(1.3*9) simplifies to %s, want 11", tab.String(got))
	}
}

func TestCompare(t *testing.T) {
	tab := testTable()
	a, _ := tab.Lookup("s0")
	b, _ := tab.Lookup("s1")
	u, _ := tab.Lookup("u0")
	half := tab.FloorDiv(b, 2)
	top := tab.Max(1, tab.Add(a, -2))
	for _, c := range []struct {
		name        string
		x, y        Dim
		equal, less tensor.Truth
	}{
		{"s0, s0+1", a, tab.Add(a, 1), tensor.No, tensor.Yes},
		{"s0, s1", a, b, tensor.Unknown, tensor.Unknown},
		{"s0, 101", a, 101, tensor.No, tensor.Yes},
		{"s1, 1", b, 1, tensor.No, tensor.No},
		{"u0, 0", u, 0, tensor.Unknown, tensor.Unknown},
		{"2·s0, 2·s1+1", tab.Mul(a, 2), tab.Add(tab.Mul(b, 2), 1), tensor.No, tensor.Unknown},
		{"0, s1//2", 0, half, tensor.No, tensor.Yes},
		{"s0-3, max(1, s0-2)", tab.Add(a, -3), top, tensor.No, tensor.Yes},
	} {
		if got := tab.Equal(c.x, c.y); got != c.equal {
			t.Errorf("%s: Equal = %d, want %d", c.name, got, c.equal)
		}
		if got := tab.Less(c.x, c.y); got != c.less {
			t.Errorf("%s: Less = %d, want %d", c.name, got, c.less)
		}
	}
}

func TestSetRange(t *testing.T) {
	tab := testTable()
	a, _ := tab.Lookup("s0")
	top := tab.Max(8, a)
	if err := tab.SetRange("s0", 10, 20); err != nil {
		t.Fatal(err)
	}
	if got := tab.Equal(top, a); got != tensor.Yes {
		t.Errorf("max(8, s0) = s0 for s0 in [10, 20]: %d", got)
	}
	if lo, hi := tab.Bounds(top); lo != 10 || hi != 20 {
		t.Errorf("bounds %d, %d, want 10, 20", lo, hi)
	}
	for _, err := range []error{tab.SetRange("s0", 21, 30), tab.SetRange("none", 1, 2)} {
		if err == nil {
			t.Error("want an error")
		}
	}
}

// TestAgainstEvaluation builds random expressions and holds canonical form,
// bounds and comparisons against plain arithmetic.
func TestAgainstEvaluation(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	names := []string{"a", "b", "c"}
	for round := range 2000 {
		tab := NewTable()
		values := map[string]int64{}
		var dims []Dim
		var want []int64
		for _, n := range names {
			lo := int64(rng.Intn(9) - 3)
			hi := lo + int64(rng.Intn(12))
			values[n] = lo + rng.Int63n(hi-lo+1)
			if rng.Intn(3) == 0 {
				hi = math.MaxInt64
			}
			dims = append(dims, tab.Symbol(n, lo, hi, 0))
			want = append(want, values[n])
		}
		for range 8 {
			op := opKind(int(opAdd) + rng.Intn(6))
			i, j := rng.Intn(len(dims)), rng.Intn(len(dims))
			a, b, y := dims[i], dims[j], want[j]
			if rng.Intn(2) == 0 {
				y = int64(rng.Intn(9) - 4)
				b = y
			}
			if y == 0 && (op == opFloorDiv || op == opMod) || mulSat(want[i], y) > 1<<40 || mulSat(want[i], y) < -1<<40 {
				continue
			}
			dims, want = append(dims, tab.apply(op, a, b)), append(want, apply(op, want[i], y))
		}
		for i, d := range dims {
			checkDim(t, tab, d, want[i], values)
			for j, e := range dims {
				checkTruth(t, tab, "=", d, e, tab.Equal(d, e), want[i] == want[j])
				checkTruth(t, tab, "<", d, e, tab.Less(d, e), want[i] < want[j])
			}
		}
		if t.Failed() {
			t.Fatalf("round %d: %v", round, values)
		}
	}
}

func checkDim(t *testing.T, tab *Table, d Dim, want int64, values map[string]int64) {
	t.Helper()
	if got := tab.Eval(d, values); got != want {
		t.Errorf("%s = %d, want %d", tab.String(d), got, want)
	}
	if lo, hi := tab.Bounds(d); want < lo || want > hi {
		t.Errorf("%s = %d is not in [%d, %d]", tab.String(d), want, lo, hi)
	}
	if got := tab.Eval(tab.Simplify(d), values); got != want {
		t.Errorf("simplified %s = %d, want %d", tab.String(d), got, want)
	}
}

func checkTruth(t *testing.T, tab *Table, sign string, a, b Dim, got tensor.Truth, want bool) {
	t.Helper()
	if got != tensor.Unknown && (got == tensor.Yes) != want {
		t.Errorf("%s %s %s: %d, want %t", tab.String(a), sign, tab.String(b), got, want)
	}
}

// TestHint gives what a symbol, an expression and a number were at export.
func TestHint(t *testing.T) {
	tab := testTable()
	s, _ := tab.Lookup("s0")
	for d, want := range map[Dim]int64{s: 7, tab.Add(tab.FloorDiv(s, 2), 1): 4, 5: 5} {
		if got := tab.Hint(d); got != want {
			t.Errorf("%s was %d, want %d", tab.String(d), got, want)
		}
	}
}

// TestEquate holds ranges and simplified expressions to what an equation says, for every value in the range.
func TestEquate(t *testing.T) {
	for _, c := range []struct {
		a, b, of   string
		want, s, u string // of, simplified, and the ranges of s0 and u0
	}{
		{"FloorDiv(" + s0 + ", Integer(4))", "Integer(3)", "Mul(Integer(5), FloorDiv(" + s0 + ", Integer(4)))", "15", "12, 15", "open, open"},
		{"FloorDiv(Add(" + u0 + ", Integer(1)), Integer(2))", "Integer(9)", "FloorDiv(Add(" + u0 + ", Integer(1)), Integer(2))", "9", "1, 100", "17, 18"},
		{"Add(" + u0 + ", Mul(Integer(-1), FloorDiv(Add(" + u0 + ", Integer(1)), Integer(2))))", "Integer(4)",
			"Add(Mul(Integer(30), " + u0 + "), Mul(Integer(-30), FloorDiv(Add(" + u0 + ", Integer(1)), Integer(2))))", "120", "1, 100", "8, 9"},
		{"Add(Mul(Integer(-2), " + u0 + "), " + s0 + ")", "Integer(7)", u0, "u0", "1, 100", "-3, 46"},
		{"Mod(" + s0 + ", Integer(4))", "Integer(0)", "Add(Mod(" + s0 + ", Integer(4)), Integer(1))", "1", "1, 100", "open, open"},
		{"Mod(" + s0 + ", Integer(7))", "Integer(3)", s0, "s0", "1, 94", "open, open"},
		{"Max(" + u0 + ", " + s0 + ")", s0, "Max(" + s0 + ", " + u0 + ")", "s0", "1, 100", "open, open"},
		{s0, "Integer(200)", s0, "s0", "1, 100", "open, open"},
		{"FloorDiv(" + s0 + ", " + u0 + ")", "Add(FloorDiv(FloorDiv(" + s0 + ", " + u0 + "), Integer(2)), Integer(1))",
			"FloorDiv(" + s0 + ", " + u0 + ")", "s0//u0", "1, 100", "open, open"},
	} {
		tab := testTable()
		var d [3]tensor.Dim
		for i, text := range []string{c.a, c.b, c.of} {
			var err error
			if d[i], err = tab.Parse(text); err != nil {
				t.Fatal(err)
			}
		}
		tab.Equate(d[0], d[1])
		of := tab.Simplify(d[2])
		if got := tab.String(of); got != c.want {
			t.Errorf("%s = %s: %s is %s, want %s", c.a, c.b, c.of, got, c.want)
		}
		for name, want := range map[string]string{"s0": c.s, "u0": c.u} {
			s, _ := tab.Lookup(name)
			if got := tab.interval(s, maxSubstitutions).String(); got != want {
				t.Errorf("%s = %s: %s in [%s], want [%s]", c.a, c.b, name, got, want)
			}
		}
		for s := int64(1); s <= 100; s++ {
			for u := int64(-20); u <= 120; u++ {
				values := map[string]int64{"s0": s, "u0": u}
				if u == 0 || tab.Eval(d[0], values) != tab.Eval(d[1], values) {
					continue
				}
				if tab.Eval(of, values) != tab.Eval(d[2], values) {
					t.Fatalf("%s = %s: %s is not %s where s0 = %d, u0 = %d", c.a, c.b, c.of, c.want, s, u)
				}
				for name, n := range values {
					d, _ := tab.Lookup(name)
					if lo, hi := tab.Bounds(d); n < lo || n > hi {
						t.Fatalf("%s = %s: %s may be %d, outside of its range", c.a, c.b, name, n)
					}
				}
			}
		}
	}
}
