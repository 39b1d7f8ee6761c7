// Package blob is the payload of the demo backend, as text. The first line lists the instructions with their ids:
//
//	5#conv_relu_op,0,conv_relu_op,1,sin_decomp_from_tan,2,cos_decomp_from_tan,3,div_decomp_from_tan,4
//
// The second has the number of inputs and the values that are outputs, and then comes one line for each instruction with
// the values that it reads, and, for convolutions, the keys of its weight and bias ("-" for none), the weight's sizes,
// and stride, padding, dilation and groups. Value i is input i; the instructions' results follow.
package blob

import (
	"errors"
	"strconv"
	"strings"
)

// Op is the name of an instruction.
type Op string

// The instructions.
const (
	Conv     Op = "conv_op"
	ConvRelu Op = "conv_relu_op"
	Relu     Op = "relu_op"
	Sin      Op = "sin_decomp_from_tan"
	Cos      Op = "cos_decomp_from_tan"
	Div      Op = "div_decomp_from_tan"
)

// operands is how many values each instruction reads.
var operands = map[Op]int{Conv: 1, ConvRelu: 1, Relu: 1, Sin: 1, Cos: 1, Div: 2}

// Instruction makes one value.
type Instruction struct {
	Op Op
	ID int
	// Args are the values that it reads.
	Args []int
	// Conv is set for Conv and ConvRelu.
	Conv *Convolution
}

// Convolution is a 2-d convolution: x [n, g·c, h, w] with weight [k, c, kh, kw] and bias [k].
type Convolution struct {
	// Weight and Bias are keys of named data; Bias is "" for none.
	Weight, Bias string
	Sizes        [4]int64 // of the weight
	Stride       [2]int64
	Padding      [2]int64
	Dilation     [2]int64
	Groups       int64
}

// Program is a payload.
type Program struct {
	// Inputs is the number of inputs, Outputs are the values that are outputs.
	Inputs       int
	Outputs      []int
	Instructions []Instruction
}

// List is the first line of the payload, without the line's end.
func (p *Program) List() string {
	parts := make([]string, 0, 2*len(p.Instructions))
	for _, in := range p.Instructions {
		parts = append(parts, string(in.Op), strconv.Itoa(in.ID))
	}
	return strconv.Itoa(len(p.Instructions)) + "#" + strings.Join(parts, ",")
}

// Encode writes p.
func (p *Program) Encode() []byte {
	var b strings.Builder
	b.WriteString(p.List() + "\n" + strconv.Itoa(p.Inputs) + " " + join(p.Outputs) + "\n")
	for _, in := range p.Instructions {
		b.WriteString(join(in.Args))
		if c := in.Conv; c != nil {
			bias := c.Bias
			if bias == "" {
				bias = "-"
			}
			b.WriteString(" " + c.Weight + " " + bias + " " + join(c.numbers()))
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

// numbers are the convolution's sizes, stride, padding, dilation and groups in a row.
func (c *Convolution) numbers() []int64 {
	list := append([]int64(nil), c.Sizes[:]...)
	for _, pair := range [][2]int64{c.Stride, c.Padding, c.Dilation} {
		list = append(list, pair[0], pair[1])
	}
	return append(list, c.Groups)
}

func join[T int | int64](list []T) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = strconv.FormatInt(int64(n), 10)
	}
	return strings.Join(parts, ",")
}

// errMalformed is any payload that Encode did not write.
var errMalformed = errors.New("malformed payload of the demo backend")

// Decode reads what Encode wrote, and checks it: every value is made before it is read, every number is in its range.
func Decode(data []byte) (*Program, error) {
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) < 2 {
		return nil, errMalformed
	}
	p := &Program{}
	count, list, _ := strings.Cut(lines[0], "#")
	if n, err := strconv.Atoi(count); err != nil || n != len(lines)-2 {
		return nil, errMalformed
	}
	names := strings.Split(list, ",")
	if list == "" {
		names = nil
	}
	inputs, outputs, _ := strings.Cut(lines[1], " ")
	var err error
	if p.Inputs, err = strconv.Atoi(inputs); err != nil || p.Inputs < 0 || p.Inputs > 1<<16 || len(names) != 2*(len(lines)-2) {
		return nil, errMalformed
	}
	for i, line := range lines[2:] {
		in, err := instruction(names[2*i], names[2*i+1], line, p.Inputs+i)
		if err != nil {
			return nil, err
		}
		p.Instructions = append(p.Instructions, in)
	}
	if p.Outputs, err = values(outputs, p.Inputs+len(p.Instructions)); err != nil {
		return nil, err
	}
	return p, nil
}

// instruction reads one line; known is how many values there are before it.
func instruction(name, id, line string, known int) (in Instruction, err error) {
	fields := strings.Split(line, " ")
	in.Op = Op(name)
	want, ok := operands[in.Op]
	if in.ID, err = strconv.Atoi(id); err != nil || !ok {
		return in, errMalformed
	}
	if in.Args, err = values(fields[0], known); err != nil || len(in.Args) != want {
		return in, errMalformed
	}
	if in.Op != Conv && in.Op != ConvRelu {
		if len(fields) != 1 {
			return in, errMalformed
		}
		return in, nil
	}
	in.Conv, err = convolution(fields[1:])
	return in, err
}

func values(text string, known int) (list []int, err error) {
	if text == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n >= known {
			return nil, errMalformed
		}
		list = append(list, n)
	}
	return list, nil
}

func convolution(fields []string) (*Convolution, error) {
	if len(fields) != 3 {
		return nil, errMalformed
	}
	c := &Convolution{Weight: fields[0], Bias: strings.TrimPrefix(fields[1], "-")}
	parts := strings.Split(fields[2], ",")
	if len(parts) != 11 {
		return nil, errMalformed
	}
	var n [11]int64
	for i, part := range parts {
		var err error
		if n[i], err = strconv.ParseInt(part, 10, 32); err != nil || n[i] < 0 {
			return nil, errMalformed
		}
	}
	c.Sizes = [4]int64(n[:4])
	c.Stride, c.Padding, c.Dilation, c.Groups = [2]int64(n[4:6]), [2]int64(n[6:8]), [2]int64(n[8:10]), n[10]
	if min(c.Stride[0], c.Stride[1], c.Dilation[0], c.Dilation[1], c.Groups) < 1 || c.Sizes[0]%c.Groups != 0 {
		return nil, errMalformed
	}
	return c, nil
}
