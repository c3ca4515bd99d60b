use crate::findings::prelude::*;

rule! {
    Unpaired [Bound, Note]
        "the two sides were not measured side by side, which is weaker evidence; a bound, and no verdict, when nothing was measured beside both",
        "compare both in one study where the older one can still be run";
    DisturbedAlone [Void]
        "something disturbed the machine while one side was measured but not the other, and \
         nothing was measured beside both",
        "measure when nothing else runs, or both sides in one study, where it hits both alike";
}
