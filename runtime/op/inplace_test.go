package op

import (
	"bytes"
	"math/rand"
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	threads "github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// TestPointwiseInPlace lets each pointwise kernel write where each of its operands lies that is like the result, which executors do
// with operands that nobody reads afterwards, and holds the bits against those of a result apart.
func TestPointwiseInPlace(t *testing.T) {
	pool := threads.New(2)
	defer pool.Close()
	checked := map[string]bool{}
	for _, k := range Kernels {
		if k.Def.Tags&Pointwise == 0 {
			continue
		}
		for _, sizes := range []dims{{1}, {7, 3}, {259}, {511}, {512}, {3, 1033}, {4, 4100}} {
			for _, broadcast := range []bool{false, true} {
				args, ok := pointwiseArgs(k, sizes, broadcast)
				if !ok {
					continue
				}
				for _, tier := range []kernel.Tier{kernel.Scalar, kernel.Best()} {
					checkInPlace(t, k, tier, pool, args, checked)
				}
			}
		}
	}
	for _, name := range []string{"aten::add.out", "aten::mul.out", "aten::gelu.out", "aten::sigmoid.out", "aten::relu.out", "aten::clamp.out", "aten::where.self_out", "aten::add.Scalar_out", "aten::pow.Tensor_Scalar_out"} {
		if !checked[name] {
			t.Errorf("%s was not tried", name)
		}
	}
	if len(checked) < 100 {
		t.Errorf("%d operators were tried, of some 120", len(checked))
	}
}

// pointwiseArgs are arguments of a kernel: tensors of these sizes, the later ones as large as a row if they broadcast.
func pointwiseArgs(k *Kernel, sizes dims, broadcast bool) (args []Value, ok bool) {
	r := rand.New(rand.NewSource(1))
	sig := ParseSignature(k.Def.Schema)
	for i := range sig.Params {
		p := &sig.Params[i]
		switch {
		case p.Out:
		case p.Type == "Tensor":
			s := sizes
			if broadcast && ok {
				s = sizes[len(sizes)-1:]
			}
			x := testTensor(tensor.Float, s, make([]float64, (&tensor.Meta{Sizes: s}).Numel())...)
			for j := range elems[float32](x) {
				elems[float32](x)[j] = float32(r.Intn(200)) / 16
			}
			dtype := k.DType
			if k.Def == &WhereSelf && !ok {
				dtype = tensor.Bool
			}
			y := &tensor.Tensor{Meta: tensor.Meta{DType: dtype, Sizes: s}}
			y.Data = AlignedBytes(y.Nbytes())
			CastBytes(y.Data, dtype, x.Data, tensor.Float, x.Numel())
			args, ok = append(args, Value{Kind: Tensor, Tensor: y}), true
		case p.Type == "Scalar" && !k.DType.IsFloat():
			args = append(args, Value{Kind: Int, Int: 2})
		case p.Type == "Scalar", p.Type == "float":
			args = append(args, Value{Kind: Float, Float: 2})
		case p.Type == "int":
			args = append(args, Value{Kind: Int, Int: 1})
		case p.Type == "bool":
			args = append(args, Value{Kind: Bool})
		case p.Type == "str":
			args = append(args, Value{Kind: String, Str: "none"})
		default:
			args = append(args, Value{})
		}
	}
	return args, ok && k.DType.Valid()
}

// checkInPlace calls k with a result apart, and then in the place of each operand.
func checkInPlace(t *testing.T, k *Kernel, tier kernel.Tier, pool *threads.Pool, args []Value, checked map[string]bool) {
	t.Helper()
	name, _, _ := strings.Cut(k.Def.Schema, "(")
	infer := Infer{Args: args, Out: make([]tensor.Meta, 1)}
	if k.Def.Infer(&infer) != nil || KeyOf(k.Def, args, infer.Out) != k.DType {
		return
	}
	run := func(args []Value, data []byte) bool {
		out := &tensor.Tensor{Meta: infer.Out[0].Clone(), Data: data}
		return callInto(k, tier, &Env{Temp: &Temp{}, Parallel: pool.Run, Threads: 2}, args, infer.Out, out) == nil
	}
	want := AlignedBytes(infer.Out[0].Nbytes())
	if !run(args, want) {
		return
	}
	for i := range args {
		x := args[i].Tensor
		if x == nil || x.DType != infer.Out[0].DType || x.Numel() != infer.Out[0].Numel() {
			continue
		}
		there := &tensor.Tensor{Meta: x.Meta, Data: AlignedBytes(len(x.Data))}
		copy(there.Data, x.Data)
		mine := append([]Value(nil), args...)
		mine[i].Tensor = there
		if !run(mine, there.Data) || !bytes.Equal(there.Data, want) {
			t.Errorf("%s of %v, %v, %v: in the place of argument %d its result is another one", name, k.DType, tier, x.Sizes, i)
		}
		checked[name] = true
	}
}

// TestOutIsInput refuses a result that is an input and would have other sizes, which the kernel would see as the input's.
func TestOutIsInput(t *testing.T) {
	x, w := wave(2, 4), wave(3, 4)
	args := vals(x, w, nil)
	sig := ParseSignature(Linear.Schema)
	for _, tier := range []kernel.Tier{kernel.Scalar, kernel.Best()} {
		p, err := Prepare(&LinearF32, &sig, args, []tensor.Meta{{DType: tensor.Float, Sizes: dims{2, 3}}}, Options{Tier: tier})
		if err != nil {
			t.Fatal(err)
		}
		err = p.Bind(args, []*tensor.Tensor{x}, &Env{Temp: new(Temp)}).Call()
		const want = "output is an input, whose sizes [2, 4] would become [2, 3]"
		if err == nil || err.Error() != want {
			t.Errorf("%v: error %v, want %q", tier, err, want)
		}
	}
}
