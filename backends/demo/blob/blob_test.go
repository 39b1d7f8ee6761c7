package blob

import (
	"reflect"
	"testing"
)

func example() *Program {
	conv := &Convolution{Weight: "w", Bias: "b", Sizes: [4]int64{16, 3, 3, 3}, Stride: [2]int64{1, 1}, Padding: [2]int64{1, 1}, Dilation: [2]int64{1, 1}, Groups: 1}
	return &Program{Inputs: 1, Outputs: []int{4}, Instructions: []Instruction{
		{ConvRelu, 0, []int{0}, conv}, {Sin, 1, []int{1}, nil}, {Cos, 2, []int{1}, nil}, {Div, 3, []int{2, 3}, nil},
	}}
}

func TestRoundTrip(t *testing.T) {
	p := example()
	if got, want := p.List(), "4#conv_relu_op,0,sin_decomp_from_tan,1,cos_decomp_from_tan,2,div_decomp_from_tan,3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	back, err := Decode(p.Encode())
	if err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("got %+v, %v", back, err)
	}
}

// FuzzDecode checks that no bytes make Decode panic, and that what it reads is written as it was.
func FuzzDecode(f *testing.F) {
	f.Add(example().Encode())
	for _, s := range []string{"", "0#\n0 \n", "1#relu_op,0\n1 1\n0\n", "1#relu_op,0\n1 1\n1\n", "1#div_decomp_from_tan,0\n1 1\n0\n", "x#\n", "1#conv_op,0\n1 1\n0 w - 1,1,1,1,0,0,0,0,0,0,0\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil {
			return
		}
		back, err := Decode(p.Encode())
		if err != nil || !reflect.DeepEqual(back, p) {
			t.Errorf("%q: %+v, then %+v, %v", data, p, back, err)
		}
	})
}
