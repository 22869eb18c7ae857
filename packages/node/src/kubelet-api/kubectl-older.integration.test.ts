import { testKubectl } from "./test-kubectl.ts";

testKubectl({ minor: "1.35", declares: false });
