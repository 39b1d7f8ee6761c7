package decomp

import "testing"

func TestNamespace(t *testing.T) {
	for name, want := range map[string]string{
		"aten::relu": "aten", "my_ops::fast.Tensor": "my_ops",
		"torch._functorch.predispatch._add_batch_dim": "torch._functorch.predispatch", "bare": "",
	} {
		if got := namespace(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
