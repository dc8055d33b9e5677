"""What is found, as codes and figures: `trial` (was it sustained?), `limit` (does it count?), `binding`
(what sets it?), `evidence` (what that stands on). Frozen, without words: those are made in
`report/wording`, last."""
